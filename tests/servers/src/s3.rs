//! An S3 store: versitygw, which verifies signatures and keeps versions, and boto3 to fill it and to presign URLs.

mod relay;

use std::fmt::Write as _;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::path::Path;
use std::process::{ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Mutex;
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::process::{Process, free_port};
use relay::Relay;
pub use relay::S3Request;

/// Who owns all buckets.
pub const ACCESS_KEY: &str = "AKIAOWNEROFALL";
/// The secret that belongs to it.
pub const SECRET_KEY: &str = "owner/secret+key";

/// A store with buckets of its own.
#[derive(Debug)]
pub struct S3Server {
    relay: Relay,
    boto: Mutex<Boto>,
    server: SocketAddr,
    gateway: Mutex<Option<Process>>,
    folder: TempDir,
}

/// What putting an object gave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PutObject {
    /// In quotes.
    pub etag: String,
    /// In buckets that keep versions.
    pub version_id: Option<String>,
}

impl S3Server {
    /// Starts an empty store in the region `us-east-1`.
    #[must_use]
    pub fn start() -> Self {
        let folder = TempDir::new().expect("a folder");
        for name in ["accounts", "versions", "data"] {
            std::fs::create_dir(folder.path().join(name)).expect("a folder");
        }
        let (gateway, server) = start_gateway(folder.path());
        let relay = Relay::start(server);
        Self {
            boto: Mutex::new(Boto::start(server, relay.address())),
            relay,
            server,
            gateway: Mutex::new(Some(gateway)),
            folder,
        }
    }

    /// Where clients that write are to connect to: nothing is remembered of what they ask.
    #[must_use]
    pub fn writable_endpoint(&self) -> String {
        format!("http://{}", self.server)
    }

    /// Kills the server, and keeps its objects.
    pub fn kill(&self) {
        *self.gateway.lock().expect("no panic") = None;
    }

    /// Starts the server again, where it was, with the objects that it had.
    pub fn start_again(&self) {
        let gateway = try_gateway(self.folder.path(), self.server);
        *self.gateway.lock().expect("no panic") = Some(gateway.expect("its port is free"));
    }

    /// Where clients that read are to connect to: what they ask is remembered.
    #[must_use]
    pub fn endpoint(&self) -> String {
        format!("http://{}", self.relay.address())
    }

    /// Makes a bucket that keeps no versions.
    pub fn make_bucket(&self, bucket: &str) {
        self.call("create_bucket", &json!({"Bucket": bucket}));
    }

    /// Makes a bucket that keeps all versions of its objects.
    pub fn make_versioned_bucket(&self, bucket: &str) {
        self.make_bucket(bucket);
        self.call(
            "put_bucket_versioning",
            &json!({"Bucket": bucket, "VersioningConfiguration": {"Status": "Enabled"}}),
        );
    }

    /// Lets everyone read the objects of a bucket and list them.
    pub fn make_public(&self, bucket: &str) {
        self.set_policy(
            bucket,
            &json!({
                "Effect": "Allow",
                "Principal": "*",
                "Action": ["s3:GetObject", "s3:ListBucket"],
                "Resource": [format!("arn:aws:s3:::{bucket}"), format!("arn:aws:s3:::{bucket}/*")],
            }),
        );
    }

    /// Lets an account read one object of a bucket, and do nothing else there.
    pub fn allow_object(&self, bucket: &str, key: &str, access_key: &str) {
        self.set_policy(
            bucket,
            &json!({
                "Effect": "Allow",
                "Principal": {"AWS": [access_key]},
                "Action": "s3:GetObject",
                "Resource": format!("arn:aws:s3:::{bucket}/{key}"),
            }),
        );
    }

    fn set_policy(&self, bucket: &str, statement: &Value) {
        let policy = json!({"Version": "2012-10-17", "Statement": [statement]});
        self.call(
            "put_bucket_policy",
            &json!({"Bucket": bucket, "Policy": policy.to_string()}),
        );
    }

    /// Puts an object, with its SHA-256 for the store to keep.
    pub fn put(&self, bucket: &str, key: &str, content: impl AsRef<[u8]>) -> PutObject {
        let hexadecimal = content.as_ref().iter().fold(String::new(), |mut text, byte| {
            let _ = write!(text, "{byte:02x}");
            text
        });
        let answer = self.call(
            "put_object",
            &json!({"Bucket": bucket, "Key": key, "Body": {"hexadecimal": hexadecimal}, "ChecksumAlgorithm": "SHA256"}),
        );
        PutObject {
            etag: answer["ETag"].as_str().expect("an entity tag").to_owned(),
            version_id: answer["VersionId"].as_str().map(ToOwned::to_owned),
        }
    }

    /// What an object holds; `None` where there is none.
    #[must_use]
    pub fn get(&self, bucket: &str, key: &str) -> Option<Vec<u8>> {
        let keys = self.keys(bucket);
        keys.iter().find(|known| *known == key)?;
        let answer = self.call("get_object", &json!({"Bucket": bucket, "Key": key}));
        let text = answer["Body"].as_str().expect("a body");
        let byte = |at| u8::from_str_radix(&text[at..at + 2], 16).expect("hexadecimal digits");
        Some((0..text.len()).step_by(2).map(byte).collect())
    }

    /// The keys of a bucket, up to 1,000.
    #[must_use]
    pub fn keys(&self, bucket: &str) -> Vec<String> {
        let answer = self.call("list_objects_v2", &json!({"Bucket": bucket}));
        texts(&answer["Contents"], "Key")
    }

    /// The keys of uploads that were begun, and neither finished nor taken back.
    #[must_use]
    pub fn open_uploads(&self, bucket: &str) -> Vec<String> {
        let answer = self.call("list_multipart_uploads", &json!({"Bucket": bucket}));
        texts(&answer["Uploads"], "Key")
    }

    /// Deletes an object. In a bucket that keeps versions only the current one is gone.
    pub fn delete(&self, bucket: &str, key: &str) {
        self.call("delete_object", &json!({"Bucket": bucket, "Key": key}));
    }

    /// A URL that an object can be read with for so many seconds. `parameters` are boto3's
    /// (`ResponseContentDisposition`) and are signed along.
    #[must_use]
    pub fn presign(&self, bucket: &str, key: &str, seconds: u32, parameters: &[(&str, &str)]) -> String {
        let mut params = json!({"Bucket": bucket, "Key": key});
        for (name, value) in parameters {
            params[*name] = json!(value);
        }
        let url = self.call("presign", &json!({"params": params, "seconds": seconds}));
        url.as_str().expect("a URL").to_owned()
    }

    /// Makes an account that may do nothing.
    pub fn make_account(&self, access_key: &str, secret_key: &str) {
        let status = Command::new("versitygw")
            .args(["admin", "--access", ACCESS_KEY, "--secret", SECRET_KEY])
            .args(["--endpoint-url", &format!("http://{}", self.server)])
            .args(["create-user", "--access", access_key, "--secret", secret_key])
            .args(["--role", "user"])
            .stdout(Stdio::null())
            .status()
            .expect("versitygw admin");
        assert!(status.success(), "no account was made");
    }

    /// What was asked at [`S3Server::endpoint`] so far.
    #[must_use]
    pub fn requests(&self) -> Vec<S3Request> {
        self.relay.requests()
    }

    fn call(&self, method: &str, arguments: &Value) -> Value {
        self.boto.lock().expect("no panic").call(method, arguments)
    }
}

/// The texts under a name in a list of objects, which may be missing.
fn texts(list: &Value, name: &str) -> Vec<String> {
    let entries = list.as_array().into_iter().flatten();
    let texts = entries.map(|entry| entry[name].as_str().expect("a text").to_owned());
    texts.collect()
}

/// Somebody else may take the port before the gateway does; then another one is tried.
fn start_gateway(folder: &Path) -> (Process, SocketAddr) {
    let started = (0..10).find_map(|_| {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, free_port()));
        try_gateway(folder, address).map(|gateway| (gateway, address))
    });
    started.expect("versitygw starts")
}

/// `None` where it ends, since the port is taken.
fn try_gateway(folder: &Path, address: SocketAddr) -> Option<Process> {
    let mut gateway = Process::spawn(
        Command::new("versitygw")
            .env("ROOT_ACCESS_KEY", ACCESS_KEY)
            .env("ROOT_SECRET_KEY", SECRET_KEY)
            .args(["--quiet", "--port", &address.to_string(), "--iam-dir"])
            .arg(folder.join("accounts"))
            .args(["posix", "--versioning-dir"])
            .args([folder.join("versions"), folder.join("data")])
            .stdout(Stdio::null())
            .stderr(Stdio::null()),
    );
    while gateway.child().try_wait().expect("a child").is_none() {
        if is_gateway(address) && gateway.child().try_wait().expect("a child").is_none() {
            return Some(gateway);
        }
        thread::sleep(Duration::from_millis(20));
    }
    None
}

fn is_gateway(address: SocketAddr) -> bool {
    let ask = || -> io::Result<String> {
        let mut stream = TcpStream::connect(address)?;
        write!(
            stream,
            "GET / HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n"
        )?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        Ok(answer)
    };
    ask().is_ok_and(|answer| answer.contains("VERSITYGW"))
}

/// A Python process that is kept, since importing boto3 takes long.
#[derive(Debug)]
struct Boto {
    calls: ChildStdin,
    answers: BufReader<ChildStdout>,
    _process: Process,
}

impl Boto {
    fn start(direct: SocketAddr, signing: SocketAddr) -> Self {
        let mut process = Process::spawn(
            Command::new("python3")
                .args(["-u", "-c", include_str!("s3/boto.py")])
                .args([format!("http://{direct}"), format!("http://{signing}")])
                .args([ACCESS_KEY, SECRET_KEY])
                .stdin(Stdio::piped())
                .stdout(Stdio::piped()),
        );
        let child = process.child();
        Self {
            calls: child.stdin.take().expect("piped"),
            answers: BufReader::new(child.stdout.take().expect("piped")),
            _process: process,
        }
    }

    fn call(&mut self, method: &str, arguments: &Value) -> Value {
        let call = json!({"method": method, "arguments": arguments});
        writeln!(self.calls, "{call}").expect("Python runs");
        let mut line = String::new();
        self.answers.read_line(&mut line).expect("Python runs");
        let mut answer: Value = serde_json::from_str(&line).expect("an answer");
        match answer.get("error") {
            Some(error) => panic!("{method} {arguments}: {error}"),
            None => answer["ok"].take(),
        }
    }
}
