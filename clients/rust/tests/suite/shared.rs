use miniapi::{admission, AdmissionRequest, AdmissionResponse, Options, Shared};

use crate::{assert_error, create, Result};

static SERVER: Shared = Shared::new(|| Options {
    webhook_manifests: &["../testdata/webhooks.yaml"],
    handlers: vec![("/validate", admission(|_: AdmissionRequest| async { Ok(AdmissionResponse::allowed()) }))],
    ..Options::default()
});

/// Creates a config map with a fixed name, which only one test could do without a reset.
async fn creates() -> Result {
    let server = SERVER.reset().await?;
    create(&server, "settings", "validate").await?;
    let refuse = |_: AdmissionRequest| async { Ok(AdmissionResponse::denied("no")) };
    server.handle("/validate", admission(refuse));
    assert_error(create(&server, "other", "validate").await, &["denied the request: no"]);
    Ok(())
}

#[tokio::test]
async fn one_test() -> Result {
    creates().await
}

#[tokio::test]
async fn another_test() -> Result {
    creates().await
}
