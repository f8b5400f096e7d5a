use std::collections::HashMap;
use std::future::Future;
use std::net::{Ipv4Addr, SocketAddr};
use std::pin::Pin;
use std::sync::{Arc, PoisonError, RwLock};

use base64::prelude::{Engine, BASE64_STANDARD};
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::{server::conn::http1, service::service_fn, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use serde::{de::DeserializeOwned, Deserialize, Serialize};
use serde_json::{from_value, json, to_value, Value};
use tokio::{net::TcpListener, task::AbortHandle, task::JoinSet};

use crate::host::RUNTIME;

/// An error of a handler. The API server gets its text with the status 500.
pub type HandlerError = Box<dyn std::error::Error + Send + Sync>;

type Answer = Pin<Box<dyn Future<Output = Result<Value, HandlerError>> + Send>>;

/// The handler of a webhook: [`admission`], [`conversion`] or [`review`] of a function.
#[derive(Clone)]
pub struct Handler(Arc<dyn Fn(Value) -> Answer + Send + Sync>);

/// A request of an API server to an admission webhook. `T` is the type of the object, such as `ConfigMap` of k8s-openapi.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct AdmissionRequest<T = Value> {
    pub uid: String,
    pub kind: Value,
    pub resource: Value,
    pub sub_resource: Option<String>,
    pub operation: String,
    pub namespace: Option<String>,
    pub name: Option<String>,
    pub user_info: Value,
    pub object: Option<T>,
    pub old_object: Option<T>,
    #[serde(default)]
    pub dry_run: bool,
    pub options: Option<Value>,
}

/// The response to an [`AdmissionRequest`].
#[derive(Clone, Debug, Serialize)]
#[must_use]
pub struct AdmissionResponse(Value);

impl AdmissionResponse {
    /// Allows the request.
    pub fn allowed() -> Self {
        Self(json!({"allowed": true, "warnings": []}))
    }

    /// Refuses the request with a message.
    pub fn denied(message: impl Into<String>) -> Self {
        let status = json!({"message": message.into(), "code": 403});
        Self(json!({"allowed": false, "warnings": [], "status": status}))
    }

    /// Allows the request, and changes the object by a JSON patch, an array of operations.
    pub fn patched(operations: Value) -> Self {
        let patch = BASE64_STANDARD.encode(operations.to_string());
        Self(json!({"allowed": true, "warnings": [], "patchType": "JSONPatch", "patch": patch}))
    }

    /// Adds a warning for the client of the API server.
    pub fn warning(mut self, text: impl Into<String>) -> Self {
        self.0["warnings"].as_array_mut().expect("warnings is an array").push(text.into().into());
        self
    }
}

/// Makes a validating or mutating webhook of a function.
pub fn admission<T, F, Fut>(f: F) -> Handler
where
    T: DeserializeOwned,
    F: Fn(AdmissionRequest<T>) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<AdmissionResponse, HandlerError>> + Send + 'static,
{
    respond(move |request| {
        let response = from_value(request).map(&f);
        async move { Ok(to_value(response?.await?)?) }
    })
}

/// Makes a conversion webhook of a function, which gets an object and the API version in which to return it.
pub fn conversion<F, Fut>(f: F) -> Handler
where
    F: Fn(Value, String) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<Value, HandlerError>> + Send + 'static,
{
    let f = Arc::new(f);
    respond(move |request| {
        let f = f.clone();
        async move {
            let version = request["desiredAPIVersion"].as_str().unwrap_or_default();
            let mut converted = Vec::new();
            for object in request["objects"].as_array().into_iter().flatten() {
                converted.push(f(object.clone(), version.into()).await?);
            }
            Ok(json!({"result": {"status": "Success"}, "convertedObjects": converted}))
        }
    })
}

/// Makes a webhook of a function that gets a review and returns one, such as a handler of an operator for an
/// `AdmissionReview` of kube-rs.
pub fn review<R, A, F, Fut>(f: F) -> Handler
where
    R: DeserializeOwned,
    A: Serialize,
    F: Fn(R) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<A, HandlerError>> + Send + 'static,
{
    Handler(Arc::new(move |review| {
        let answer = from_value(review).map(&f);
        Box::pin(async move { Ok(to_value(answer?.await?)?) })
    }))
}

/// Makes a webhook of a function that gets the request of a review, and returns the response.
fn respond<F, Fut>(f: F) -> Handler
where
    F: Fn(Value) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<Value, HandlerError>> + Send + 'static,
{
    review(move |mut review: Value| {
        let request = review["request"].take();
        let uid = request["uid"].clone();
        let response = f(request);
        async move {
            review["response"] = response.await?;
            review["response"]["uid"] = uid;
            Ok(review)
        }
    })
}

/// The handlers of a server, by their paths.
pub(crate) type Handlers = HashMap<String, Handler>;

/// An HTTP server for the handlers of a server, which ends when the value is dropped.
pub(crate) struct Listener {
    pub(crate) address: SocketAddr,
    pub(crate) handlers: Arc<RwLock<Handlers>>,
    task: AbortHandle,
}

impl Listener {
    pub(crate) fn start(handlers: Handlers) -> std::io::Result<Self> {
        let socket = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        socket.set_nonblocking(true)?;
        let address = socket.local_addr()?;
        let _runtime = RUNTIME.enter();
        let socket = TcpListener::from_std(socket)?;
        let handlers = Arc::new(RwLock::new(handlers));
        let task = tokio::spawn(serve(socket, handlers.clone())).abort_handle();
        Ok(Self { address, handlers, task })
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn serve(socket: TcpListener, handlers: Arc<RwLock<Handlers>>) {
    let mut connections = JoinSet::new(); // they end with the task
    while let Ok((stream, _)) = socket.accept().await {
        let handlers = handlers.clone();
        let service = service_fn(move |request| answer(handlers.clone(), request));
        connections.spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), service));
        while connections.try_join_next().is_some() {}
    }
}

async fn answer(
    handlers: Arc<RwLock<Handlers>>,
    request: Request<Incoming>,
) -> Result<Response<Full<Bytes>>, HandlerError> {
    let path = request.uri().path();
    let handler = handlers.read().unwrap_or_else(PoisonError::into_inner).get(path).cloned();
    let missing = format!("the test has no handler for the path {path}");
    let review = request.into_body().collect().await?.to_bytes();
    // A task of its own makes an error of a panic.
    let answer = tokio::spawn(async move {
        let Handler(handler) = handler.ok_or(missing)?;
        handler(serde_json::from_slice(&review)?).await
    });
    let (status, body) = match answer.await.unwrap_or_else(|panic| Err(format!("the handler's {panic}").into())) {
        Ok(review) => (StatusCode::OK, review.to_string()),
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, error.to_string()),
    };
    Ok(Response::builder().status(status).body(Full::from(body))?)
}
