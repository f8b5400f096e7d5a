use std::{fmt, future::Future, panic::Location};

use hyper::Method;
use serde::Deserialize;
use serde_json::Value;

use crate::host::encode;
use crate::{Error, Server};

/// Why the webhooks of a configuration were called for an object, or weren't. It is displayed as a sentence for each.
#[derive(Clone, Debug, Deserialize)]
#[non_exhaustive]
pub struct Why {
    pub answers: Vec<Answer>,
}

/// Why a webhook was called, or wasn't.
#[derive(Clone, Debug, Deserialize)]
#[non_exhaustive]
pub struct Answer {
    pub called: bool,
    pub sentence: String,
    /// The number of the request, or nothing if the server has recorded none for the object.
    pub request: Option<i64>,
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.answers.iter().try_for_each(|answer| writeln!(f, "{}", answer.sentence))
    }
}

/// Returns the query for an object: `RESOURCE`, `RESOURCE/NAME` or `RESOURCE/NAMESPACE/NAME`.
fn query(object: &str) -> String {
    let mut parts = object.splitn(3, '/').map(encode);
    let resource = parts.next().unwrap_or_default();
    let (namespace, name) = match (parts.next(), parts.next()) {
        (Some(namespace), Some(name)) => (namespace, name),
        (name, _) => (String::new(), name.unwrap_or_default()),
    };
    format!("resource={resource}&namespace={namespace}&name={name}")
}

/// The functions name a webhook by the kind and the name of its configuration, such as
/// `ValidatingWebhookConfiguration/owners`, and an object by `RESOURCE/NAME`, or by `RESOURCE/NAMESPACE/NAME`.
impl Server {
    /// Says why the webhooks of a configuration, or a policy, were called for an object, or weren't.
    pub async fn why(&self, webhook: &str, object: &str) -> Result<Why, Error> {
        let below = format!("/why?webhook={}&{}", encode(webhook), query(object));
        self.resource.call(Method::GET, &below, Value::Null).await
    }

    /// Returns the recorded requests for an object, or for all of a resource, with all decisions of admission.
    pub async fn requests(&self, object: &str) -> Result<Value, Error> {
        self.resource.call(Method::GET, &format!("/requests?{}", query(object)), Value::Null).await
    }

    /// Returns the recorded requests for an object, or for all of a resource, as a text.
    pub async fn timeline(&self, object: &str) -> Result<String, Error> {
        let below = format!("/requests?output=text&{}", query(object));
        let text = self.resource.send(Method::GET, &below, Value::Null).await?;
        Ok(String::from_utf8_lossy(&text).into())
    }

    /// Asserts that the last request for an object called a webhook of a configuration.
    ///
    /// # Panics
    ///
    /// Panics if it didn't, with the reason and the timeline.
    #[track_caller]
    pub fn assert_called<'a>(&'a self, webhook: &'a str, object: &'a str) -> impl Future<Output = ()> + 'a {
        self.assert_calls(true, webhook, object, Location::caller())
    }

    /// Asserts that the last request for an object called no webhook of a configuration.
    ///
    /// # Panics
    ///
    /// Panics if it did, or if there was no request, with the reason and the timeline.
    #[track_caller]
    pub fn assert_not_called<'a>(&'a self, webhook: &'a str, object: &'a str) -> impl Future<Output = ()> + 'a {
        self.assert_calls(false, webhook, object, Location::caller())
    }

    async fn assert_calls(&self, want: bool, webhook: &str, object: &str, at: &Location<'_>) {
        let why = self.why(webhook, object).await.unwrap_or_else(|error| panic!("{at}: {error}"));
        let recorded = why.answers.iter().any(|answer| answer.request.is_some());
        let called = why.answers.iter().any(|answer| answer.called);
        if !recorded || called != want {
            let timeline = self.timeline(object).await.unwrap_or_else(|error| error.to_string());
            let wanted = if want { "a call" } else { "no call" };
            panic!("{at}: want {wanted} of {webhook} for {object}\n{why}\n{timeline}");
        }
    }
}
