use k8s_openapi::api::core::v1::ConfigMap;
use kube::{Api, Error};
use miniapi::{Options, Server};

use crate::{assert_error, names, Result};

// Behaviour 17.
#[tokio::test]
async fn a_user_needs_a_role() -> Result {
    let server = Server::start(Options::default()).await?;
    let alice = server.user("alice", &["dev"]).await?;
    let maps: Api<ConfigMap> = Api::default_namespaced(alice.client().await?);
    match maps.list(&Default::default()).await {
        Err(Error::Api(status)) if status.is_forbidden() => assert!(status.message.contains("\"alice\"")),
        other => panic!("want a refusal by RBAC, got {other:?}"),
    }
    server
        .apply(
            "apiVersion: rbac.authorization.k8s.io/v1\n\
             kind: RoleBinding\n\
             metadata: {name: dev, namespace: default}\n\
             roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: view}\n\
             subjects: [{apiGroup: rbac.authorization.k8s.io, kind: Group, name: dev}]",
        )
        .await?;
    names(&maps).await?;
    Ok(())
}

// The kubeconfig has a context for each user of the options.
#[tokio::test]
async fn the_kubeconfig_has_the_users() -> Result {
    let server = Server::start(Options { users: &[("alice", &["dev"])], ..Options::default() }).await?;
    let kubeconfig = kube::config::Kubeconfig::read_from(&server.access.kubeconfig)?;
    assert!(kubeconfig.contexts.iter().any(|context| context.name == "alice"));
    assert_eq!(
        kubeconfig.clusters[0].cluster.as_ref().and_then(|cluster| cluster.server.as_ref()),
        Some(&server.access.url)
    );
    Ok(())
}

// Servers with other feature gates, or with another emulated version, run at the same time.
#[tokio::test]
async fn settings_of_the_process_differ() -> Result {
    let now = Server::start(Options::default()).await?;
    let earlier = Server::start(Options { emulated_version: "1.36", ..Options::default() }).await?;
    for (server, minor) in [(now, "37"), (earlier, "36")] {
        let version = server.client().await?.apiserver_version().await?;
        assert_eq!(version.emulation_minor.as_deref(), Some(minor));
    }
    Ok(())
}

// Behaviour 20. The unit tests of the host check that no server runs.
#[tokio::test]
async fn a_wrong_option_is_named() {
    assert_error(Server::start(Options { flags: &["--bogus"], ..Options::default() }).await, &["--bogus"]);
    assert_error(Server::start(Options { crds: &["none.yaml"], ..Options::default() }).await, &["none.yaml"]);
}
