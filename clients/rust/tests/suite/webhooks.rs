use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{DeleteParams, PostParams};
use miniapi::{admission, conversion, review, AdmissionRequest, AdmissionResponse, HandlerError, Options, Server};
use serde_json::{json, Value};
use tokio::sync::mpsc::{unbounded_channel, UnboundedReceiver};

use crate::{assert_error, config_map, config_maps, create, names, widget, widgets, Result};

async fn allow(_: AdmissionRequest) -> std::result::Result<AdmissionResponse, HandlerError> {
    Ok(AdmissionResponse::allowed())
}

/// Starts a server with the webhooks of the suites, which allow all.
async fn start() -> Result<Server> {
    Ok(Server::start(Options {
        webhook_manifests: &["../testdata/webhooks.yaml"],
        handlers: vec![("/validate", admission(allow)), ("/mutate", admission(allow))],
        ..Options::default()
    })
    .await?)
}

/// Makes `/validate` send its requests to the returned channel.
fn requests(server: &Server) -> UnboundedReceiver<AdmissionRequest<ConfigMap>> {
    let (sender, receiver) = unbounded_channel();
    server.handle(
        "/validate",
        admission(move |request| {
            let sent = sender.send(request);
            async move { Ok(sent.map(|()| AdmissionResponse::allowed())?) }
        }),
    );
    receiver
}

// Behaviour 7.
#[tokio::test]
async fn a_handler_refuses() -> Result {
    let server = start().await?;
    let refuse = |request: AdmissionRequest<ConfigMap>| async move {
        Ok(AdmissionResponse::denied(format!("{} is refused", request.name.unwrap_or_default())))
    };
    server.handle("/validate", admission(refuse));
    let refused = create(&server, "a", "validate").await;
    assert_error(refused, &["admission webhook \"validate.example.com\" denied the request: a is refused"]);
    create(&server, "b", "").await?;
    assert_eq!(names(&config_maps(&server).await?).await?, ["b"]);
    server.reset().await?;
    create(&server, "a", "validate").await?;
    Ok(())
}

// Behaviour 8.
#[tokio::test]
async fn a_handler_patches() -> Result {
    let server = start().await?;
    let patch = json!([{"op": "add", "path": "/metadata/annotations", "value": {"mutated": "yes"}}]);
    let annotate = move |_: AdmissionRequest| {
        let response = AdmissionResponse::patched(patch.clone()).warning("it is annotated");
        async { Ok(response) }
    };
    server.handle("/mutate", admission(annotate));
    let created = create(&server, "a", "mutate").await?;
    assert_eq!(created.metadata.annotations.unwrap_or_default()["mutated"], "yes");
    assert!(server.timeline("configmaps/default/a").await?.contains("it is annotated"));
    Ok(())
}

// Behaviour 9.
#[tokio::test]
async fn a_handler_gets_the_old_object() -> Result {
    let server = start().await?;
    create(&server, "a", "validate").await?;
    let mut requests = requests(&server);
    config_maps(&server).await?.delete("a", &DeleteParams::default()).await?;
    let request = requests.recv().await.ok_or("there is no request")?;
    assert_eq!(request.operation, "DELETE");
    assert!(request.object.is_none());
    assert_eq!(request.old_object.and_then(|object| object.metadata.name).as_deref(), Some("a"));
    Ok(())
}

// Behaviour 10.
#[tokio::test]
async fn a_handler_sees_a_dry_run() -> Result {
    let server = start().await?;
    let mut requests = requests(&server);
    let maps = config_maps(&server).await?;
    let dry_run = PostParams { dry_run: true, ..PostParams::default() };
    maps.create(&dry_run, &config_map("a", "validate")).await?;
    assert!(requests.recv().await.ok_or("there is no request")?.dry_run);
    assert!(names(&maps).await?.is_empty());
    Ok(())
}

// Behaviour 11.
#[tokio::test]
async fn a_handler_converts() -> Result {
    let convert = |mut object: Value, version: String| async move {
        let (from, to) = if version == "example.com/v1" { ("width", "size") } else { ("size", "width") };
        object["spec"] = json!({to: object["spec"][from]});
        object["apiVersion"] = version.into();
        Ok(object)
    };
    let server = Server::start(Options {
        crds: &["../testdata/widgets.yaml"],
        handlers: vec![("/convert", conversion(convert))],
        ..Options::default()
    })
    .await?;
    let stored = widget("v1", "a", json!({"size": 3}));
    widgets(&server, "v1").await?.create(&PostParams::default(), &stored).await?;
    let converted = widgets(&server, "v1alpha1").await?.get("a").await?;
    assert_eq!(converted.data["spec"], json!({"width": 3}));
    Ok(())
}

// Behaviour 12.
#[tokio::test]
async fn a_handler_fails() -> Result {
    let server = start().await?;
    let fail = |_: AdmissionRequest| async { Err("the database is down".into()) };
    server.handle("/validate", admission(fail));
    let refused = create(&server, "a", "validate").await;
    assert_error(refused, &["validate.example.com", "the database is down"]);
    let panics = |_: AdmissionRequest| async { panic!("it isn't ready") };
    server.handle("/validate", admission(panics));
    let refused = create(&server, "a", "validate").await;
    assert_error(refused, &["validate.example.com", "panicked with message", "it isn't ready"]);
    Ok(())
}

// A path without a handler is an error that names the path.
#[tokio::test]
async fn a_handler_is_missing() -> Result {
    let webhooks = &["../testdata/webhooks.yaml"];
    let server = Server::start(Options { webhook_manifests: webhooks, ..Options::default() }).await?;
    let refused = create(&server, "a", "validate").await;
    assert_error(refused, &["validate.example.com", "the test has no handler for the path /validate"]);
    Ok(())
}

// A handler may get the whole review, as the handlers of kube-rs operators do.
#[tokio::test]
async fn a_handler_gets_the_review() -> Result {
    let server = start().await?;
    let refuse = |review: Value| async move {
        let response = json!({"uid": review["request"]["uid"], "allowed": false, "status": {"message": "no"}});
        Ok(json!({"apiVersion": review["apiVersion"], "kind": review["kind"], "response": response}))
    };
    server.handle("/validate", review(refuse));
    assert_error(create(&server, "a", "validate").await, &["denied the request: no"]);
    Ok(())
}

const CONFIGURATION: &str = "ValidatingWebhookConfiguration/validate";
const REASON: &str = "validate.example.com was not called for CREATE of configmaps default/b by system:admin: \
                      webhooks[0].objectSelector.matchLabels[\"webhook\"] requires webhook=validate";

// Behaviour 15.
#[tokio::test]
async fn why_names_the_selector() -> Result {
    let server = start().await?;
    create(&server, "a", "validate").await?;
    create(&server, "b", "other").await?;
    server.assert_called(CONFIGURATION, "configmaps/default/a").await;
    server.assert_not_called(CONFIGURATION, "configmaps/default/b").await;
    let why = server.why(CONFIGURATION, "configmaps/default/b").await?;
    assert!(!why.answers[0].called && why.to_string().contains(REASON), "{why}");
    Ok(())
}

// Behaviour 16.
#[tokio::test]
async fn a_failed_assertion_says_why() -> Result {
    let server = start().await?;
    create(&server, "b", "other").await?;
    let assertion = async move { server.assert_called(CONFIGURATION, "configmaps/default/b").await };
    let line = format!("{}:{}:", file!(), line!() - 1);
    let panic = tokio::spawn(assertion).await.unwrap_err().into_panic();
    let message = panic.downcast_ref::<String>().ok_or("the panic has a message")?;
    for part in [line.as_str(), REASON, "CREATE of configmaps default/b by system:admin -> 201"] {
        assert!(message.contains(part), "want {part:?} in {message}");
    }
    Ok(())
}

// An assertion about an object that no request was for is a mistake.
#[tokio::test]
async fn an_assertion_needs_a_request() -> Result {
    let server = start().await?;
    let assertion = async move { server.assert_not_called(CONFIGURATION, "configmaps/default/c").await };
    let panic = tokio::spawn(assertion).await.unwrap_err().into_panic();
    let message = panic.downcast_ref::<String>().ok_or("the panic has a message")?;
    assert!(message.contains("no request for the object is recorded"), "{message}");
    Ok(())
}
