use futures::StreamExt;
use kube::api::{Api, DeleteParams, Patch, PatchParams, PostParams, WatchEvent, WatchParams};
use miniapi::{Options, Server};
use serde_json::json;

use crate::{assert_error, config_map, config_maps, create, names, widget, widgets, Result};

// Behaviour 1.
#[tokio::test]
async fn a_client_creates_and_reads() -> Result {
    let server = Server::start(Options::default()).await?;
    create(&server, "a", "").await?;
    let read = config_maps(&server).await?.get("a").await?;
    assert_eq!(read.metadata.name.as_deref(), Some("a"));
    server.stop().await?;
    Ok(())
}

// Behaviour 2.
#[tokio::test]
async fn servers_are_separate() -> Result {
    let (one, other) = (Server::start(Options::default()).await?, Server::start(Options::default()).await?);
    create(&one, "one", "").await?;
    create(&other, "other", "").await?;
    assert_eq!(names(&config_maps(&one).await?).await?, ["one"]);
    assert_eq!(names(&config_maps(&other).await?).await?, ["other"]);
    Ok(())
}

// Behaviour 3.
#[tokio::test]
async fn reset_brings_back_the_start() -> Result {
    let start = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "start", "namespace": "default"}});
    let server = Server::start(Options { objects: vec![start], ..Options::default() }).await?;
    let maps = config_maps(&server).await?;
    create(&server, "created", "").await?;
    maps.delete("start", &DeleteParams::default()).await?;
    server.reset().await?;
    assert_eq!(names(&maps).await?, ["start"]);
    Ok(())
}

// Behaviour 4.
#[tokio::test]
async fn a_snapshot_is_restored_twice() -> Result {
    let server = Server::start(Options::default()).await?;
    let maps = config_maps(&server).await?;
    create(&server, "kept", "").await?;
    let snapshot = server.snapshot().await?;
    for later in ["one", "other"] {
        create(&server, later, "").await?;
        maps.delete("kept", &DeleteParams::default()).await?;
        snapshot.restore().await?;
        assert_eq!(names(&maps).await?, ["kept"]);
    }
    Ok(())
}

// Behaviour 5.
#[tokio::test]
async fn a_definition_is_installed() -> Result {
    let server = Server::start(Options { crds: &["../testdata/widgets.yaml"], ..Options::default() }).await?;
    let widgets = widgets(&server, "v1").await?;
    widgets.create(&PostParams::default(), &widget("v1", "small", json!({"size": 1}))).await?;
    let refused = widgets.create(&PostParams::default(), &widget("v1", "none", json!({"size": 0}))).await;
    assert_error(refused, &["spec.size", "greater than or equal to 1"]);
    let listed = widgets.list(&Default::default()).await?;
    assert_eq!(listed.items.iter().map(|widget| &widget.data["spec"]["size"]).collect::<Vec<_>>(), [1]);
    Ok(())
}

// Behaviour 6.
#[tokio::test]
async fn manifests_are_applied() -> Result {
    let server = Server::start(Options::default()).await?;
    server.apply("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: b}").await?;
    assert_eq!(names(&config_maps(&server).await?).await?, ["a", "b"]);
    assert_error(server.apply("apiVersion: example.com/v1\nkind: Gadget\nmetadata: {name: a}").await, &["Gadget"]);
    server.apply_files(&["../testdata/widgets.yaml"]).await?;
    widgets(&server, "v1").await?.create(&PostParams::default(), &widget("v1", "a", json!({"size": 1}))).await?;
    Ok(())
}

// Behaviour 18.
#[tokio::test]
async fn managers_conflict_in_server_side_apply() -> Result {
    let server = Server::start(Options::default()).await?;
    let maps = config_maps(&server).await?;
    let data = |value| {
        let name = json!({"name": "a"});
        Patch::Apply(json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": name, "data": {"key": value}}))
    };
    maps.patch("a", &PatchParams::apply("one"), &data("1")).await?;
    let refused = maps.patch("a", &PatchParams::apply("other"), &data("2")).await;
    assert_error(refused, &["conflict with \"one\": .data.key"]);
    let forced = maps.patch("a", &PatchParams::apply("other").force(), &data("2")).await?;
    assert_eq!(forced.data.unwrap_or_default()["key"], "2");
    Ok(())
}

// Behaviour 19.
#[tokio::test]
async fn a_watch_gets_events_in_order() -> Result {
    let server = Server::start(Options::default()).await?;
    let maps: Api<_> = config_maps(&server).await?;
    let version = maps.list(&Default::default()).await?.metadata.resource_version.unwrap_or_default();
    let events = maps.watch(&WatchParams::default().timeout(60), &version).await?.take(3);
    create(&server, "a", "").await?;
    maps.patch("a", &PatchParams::default(), &Patch::Merge(json!({"data": {"key": "value"}}))).await?;
    maps.delete("a", &DeleteParams::default()).await?;
    let events = events.map(|event| match event {
        Ok(WatchEvent::Added(map)) => ("added", map),
        Ok(WatchEvent::Modified(map)) => ("modified", map),
        Ok(WatchEvent::Deleted(map)) => ("deleted", map),
        other => panic!("want an event about an object, got {other:?}"),
    });
    let events: Vec<_> =
        events.map(|(event, map)| (event, map.metadata.name == config_map("a", "").metadata.name)).collect().await;
    assert_eq!(events, [("added", true), ("modified", true), ("deleted", true)]);
    Ok(())
}
