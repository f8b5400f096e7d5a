use kube::api::{Patch, PatchParams, PostParams};
use miniapi::{Options, Server};
use serde_json::json;

use crate::{assert_error, config_maps, create, Result};

/// Updates the config map `a`.
async fn update(server: &Server, value: u64) -> Result {
    let maps = config_maps(server).await?;
    let mut map = maps.get("a").await?;
    map.data = Some([("key".to_string(), value.to_string())].into());
    maps.replace("a", &PostParams::default(), &map).await?;
    Ok(())
}

// Behaviours 13 and 14.
#[tokio::test]
async fn the_third_update_conflicts() -> Result {
    let server = Server::start(Options::default()).await?;
    create(&server, "a", "").await?;
    let conflict = json!({"verbs": ["update"], "resources": ["configmaps"], "requests": 3, "conflict": true});
    let fault = server.inject(conflict.clone()).await?;
    update(&server, 1).await?;
    update(&server, 2).await?;
    assert_error(update(&server, 3).await, &["the object has been modified"]);
    assert_eq!(server.faults().await?["faults"][0]["injected"], 1);
    fault.remove().await?;

    let every = json!({"verbs": ["update"], "resources": ["configmaps"], "conflict": true});
    let fault = server.inject(every).await?;
    assert_error(update(&server, 4).await, &["the object has been modified"]);
    drop(fault);
    update(&server, 5).await?;
    let patch = Patch::Merge(json!({"data": {"key": "6"}}));
    config_maps(&server).await?.patch("a", &PatchParams::default(), &patch).await?;
    Ok(())
}

// A fault that doesn't exist is refused.
#[tokio::test]
async fn a_wrong_fault_is_refused() -> Result {
    let server = Server::start(Options::default()).await?;
    assert_error(server.inject(json!({"verbs": ["get"], "conflicts": true})).await, &["conflicts"]);
    Ok(())
}
