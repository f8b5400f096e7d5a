use k8s_openapi::api::core::v1::Namespace;
use kube::{api::PostParams, Api, ResourceExt};
use miniapi::{admission, AdmissionRequest, AdmissionResponse, HandlerError, Options, Server};
use serde_json::{from_value, json};

/// The webhook, which refuses namespaces without the label owner.
async fn owners(request: AdmissionRequest<Namespace>) -> Result<AdmissionResponse, HandlerError> {
    let namespace = request.object.ok_or("there is no object")?;
    Ok(match namespace.labels().get("owner") {
        Some(_) => AdmissionResponse::allowed(),
        None => AdmissionResponse::denied("set the label owner"),
    })
}

#[tokio::test]
async fn namespaces_have_owners() -> Result<(), Box<dyn std::error::Error>> {
    let server = Server::start(Options {
        webhook_manifests: &["tests/owners/webhook.yaml"],
        handlers: vec![("/validate", admission(owners))],
        ..Options::default()
    })
    .await?;
    let namespaces: Api<Namespace> = Api::all(server.client().await?);

    let owned = from_value(json!({"metadata": {"name": "owned", "labels": {"owner": "me"}}}))?;
    namespaces.create(&PostParams::default(), &owned).await?;

    let orphan = from_value(json!({"metadata": {"name": "orphan"}}))?;
    let refused = namespaces.create(&PostParams::default(), &orphan).await.unwrap_err();
    assert!(refused.to_string().contains("set the label owner"), "{refused}");

    server.assert_called("ValidatingWebhookConfiguration/owners", "namespaces/orphan").await;
    Ok(())
}
