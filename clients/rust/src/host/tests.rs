use serde_json::{json, Value};

use super::{decode, encode, Host};
use crate::{Options, Server};

// After a failed start, the host has no server. No other test has servers with this feature gate.
#[tokio::test]
async fn a_failed_start_leaves_no_server() {
    for wrong in [Options { flags: &["--bogus"], ..options() }, Options { crds: &["none.yaml"], ..options() }] {
        assert!(Server::start(wrong).await.is_err());
    }
    let host = Host::of(r#"{"AllAlpha":false} """#.into()).await.unwrap();
    let servers: Value =
        decode(&host.send(hyper::Method::GET, "/v1/servers".into(), Value::Null).await.unwrap()).unwrap();
    assert_eq!(servers, json!({"servers": []}));
    let server = Server::start(options()).await.unwrap();
    let servers: Value =
        decode(&host.send(hyper::Method::GET, "/v1/servers".into(), Value::Null).await.unwrap()).unwrap();
    assert_eq!(servers["servers"][0]["url"], server.access.url.as_str());
}

fn options() -> Options<'static> {
    Options { feature_gates: [("AllAlpha", false)].into(), ..Options::default() }
}

#[test]
fn names_are_encoded() {
    assert_eq!(encode("a-b/c d&é"), "a-b%2Fc%20d%26%C3%A9");
}
