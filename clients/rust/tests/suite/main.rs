//! The suite of the clients for all languages. ../README.md has the behaviours, by number.

mod access;
mod faults;
mod objects;
mod process;
mod program;
mod shared;
mod webhooks;

use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, ApiResource, DynamicObject, GroupVersionKind, PostParams};
use miniapi::Server;
use serde_json::{from_value, json, Value};

type Result<T = ()> = std::result::Result<T, Box<dyn std::error::Error>>;

/// Returns a config map. The label `webhook` has the value `validate` or `mutate` to make the server call a webhook.
fn config_map(name: &str, label: &str) -> ConfigMap {
    let metadata = json!({"name": name, "namespace": "default", "labels": {"webhook": label}});
    from_value(json!({"metadata": metadata})).expect("the JSON is a ConfigMap")
}

async fn config_maps(server: &Server) -> Result<Api<ConfigMap>> {
    Ok(Api::default_namespaced(server.client().await?))
}

/// Creates a config map, and returns it or the error of the server.
async fn create(server: &Server, name: &str, label: &str) -> Result<ConfigMap> {
    let maps = config_maps(server).await?;
    Ok(maps.create(&PostParams::default(), &config_map(name, label)).await?)
}

async fn names(maps: &Api<ConfigMap>) -> Result<Vec<String>> {
    let list = maps.list(&Default::default()).await?;
    Ok(list.items.into_iter().filter_map(|map| map.metadata.name).collect())
}

async fn widgets(server: &Server, version: &str) -> Result<Api<DynamicObject>> {
    let kind = GroupVersionKind::gvk("example.com", version, "Widget");
    let resource = ApiResource::from_gvk_with_plural(&kind, "widgets");
    Ok(Api::default_namespaced_with(server.client().await?, &resource))
}

fn widget(version: &str, name: &str, spec: Value) -> DynamicObject {
    let metadata = json!({"name": name, "namespace": "default"});
    let widget =
        json!({"apiVersion": format!("example.com/{version}"), "kind": "Widget", "metadata": metadata, "spec": spec});
    from_value(widget).expect("the JSON is an object")
}

/// Asserts that a result is an error whose text contains all parts.
#[track_caller]
fn assert_error<T, E: std::fmt::Display>(result: std::result::Result<T, E>, parts: &[&str]) {
    let message = result.err().map(|error| error.to_string()).unwrap_or_default();
    for part in parts {
        assert!(message.contains(part), "want an error with {part:?}, got {message:?}");
    }
}

// The README has the first test as it is.
#[test]
fn the_readme_has_the_first_test() {
    assert!(include_str!("../../README.md").contains(include_str!("../owners/main.rs")));
}
