//! What the hub answers to what.

use percent_encoding::{NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::Shared;
use super::repository::{Access, Blob, Contents, Kind, State, Tree, hex};
use super::wire::{Answer, Body, Host, Request, header};

const BAD_TOKEN: &str = "Invalid credentials in Authorization header";
const SECRET: &str = "what signs the storage's addresses";
const DATE: &str = "2026-11-30T00:00:00.000Z";

/// Who asks.
enum Who {
    Everyone,
    Account(String),
    /// With a token that the hub never gave out.
    Stranger,
}

/// What may be done with a repository, besides knowing that it is there.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Right {
    List,
    Read,
}

pub(super) fn answer(shared: &Shared, host: Host, request: &Request) -> Answer {
    let (path, query) = request.target.split_once('?').unwrap_or((&request.target, ""));
    let state = shared.state.lock().unwrap();
    if host == Host::Storage {
        return stored(&state, path, query, request);
    }
    let who = Who::of(&state, request);
    if matches!(who, Who::Stranger) {
        return refusal(401, None, BAD_TOKEN);
    }
    // A segment may have slashes of its own, encoded.
    let segments: Vec<String> = path.trim_matches('/').split('/').map(decoded).collect();
    let segments: Vec<&str> = segments.iter().map(String::as_str).collect();
    let call = Call {
        shared,
        state: &state,
        who,
        path,
        query,
    };
    match segments[..] {
        ["api", "resolve-cache", kind, owner, name, commit, ref file @ ..] => match Kind::of_plural(kind) {
            Some(kind) => call.cached(kind, owner, name, commit, &file.join("/")),
            None => no_page(),
        },
        ["api", kind, owner, name, ref rest @ ..] => match Kind::of_plural(kind) {
            Some(kind) => call.api(kind, owner, name, rest, &request.body),
            None => no_page(),
        },
        ["datasets", owner, name, "resolve", revision, ref file @ ..] => {
            call.file(Kind::Dataset, owner, name, revision, &file.join("/"))
        }
        ["spaces", owner, name, "resolve", revision, ref file @ ..] => {
            call.file(Kind::Space, owner, name, revision, &file.join("/"))
        }
        [owner, name, "resolve", revision, ref file @ ..] => {
            call.file(Kind::Model, owner, name, revision, &file.join("/"))
        }
        _ => no_page(),
    }
}

impl Who {
    fn of(state: &State, request: &Request) -> Self {
        match header(&request.headers, "authorization") {
            None => Self::Everyone,
            Some(value) => match value
                .strip_prefix("Bearer ")
                .filter(|token| state.accounts.contains(*token))
            {
                Some(token) => Self::Account(token.to_owned()),
                None => Self::Stranger,
            },
        }
    }

    fn is(&self, token: &str) -> bool {
        matches!(self, Self::Account(found) if found == token)
    }
}

/// One request to the hub itself.
struct Call<'a> {
    shared: &'a Shared,
    state: &'a State,
    who: Who,
    path: &'a str,
    query: &'a str,
}

impl Call<'_> {
    fn api(&self, kind: Kind, owner: &str, name: &str, rest: &[&str], body: &[u8]) -> Answer {
        let id = format!("{owner}/{name}");
        let right = if rest == ["auth-check"] {
            Right::Read
        } else {
            Right::List
        };
        let contents = match self.repository(kind, &id, right) {
            Ok(contents) => contents,
            Err(answer) => return answer,
        };
        match *rest {
            [] => self.info(&id, contents, "main"),
            ["revision", revision] => match contents.resolve(revision) {
                Some(_) => self.info(&id, contents, revision),
                None => no_revision(revision),
            },
            ["auth-check"] => Answer::new(200, "{}"),
            ["refs"] => refs(contents),
            ["tree", revision, ref path @ ..] => match contents.resolve(revision) {
                Some((commit, tree)) => self.tree(commit, tree, &path.join("/")),
                None => no_revision(revision),
            },
            ["paths-info", revision] => match contents.resolve(revision) {
                Some((commit, tree)) => paths_info(commit, tree, body),
                None => no_revision(revision),
            },
            _ => no_page(),
        }
    }

    /// A repository that who asks has this right to.
    fn repository(&self, kind: Kind, id: &str, right: Right) -> Result<&Contents, Answer> {
        let contents = self
            .state
            .repositories
            .get(&(kind, id.to_owned()))
            .filter(|contents| match &contents.access {
                Access::Private(token) => self.who.is(token),
                _ => true,
            });
        let Some(contents) = contents else {
            return Err(match self.who {
                // It might be there, for others. The clients take a 401 without the code for the same, over https.
                Who::Everyone => refusal(401, Some("RepoNotFound"), "Repository not found"),
                _ => refusal(404, Some("RepoNotFound"), "Repository not found"),
            });
        };
        match &contents.access {
            Access::Disabled => Err(refusal(403, None, "Access to this resource is disabled.")),
            Access::Gated(token) if right == Right::Read && !self.who.is(token) => Err(match self.who {
                Who::Everyone => refusal(
                    401,
                    Some("GatedRepo"),
                    &format!("Access to {id} is restricted. You must be authenticated to access it."),
                ),
                _ => refusal(
                    403,
                    Some("GatedRepo"),
                    &format!("Access to {id} is restricted and you are not in the authorized list."),
                ),
            }),
            _ => Ok(contents),
        }
    }

    fn info(&self, id: &str, contents: &Contents, revision: &str) -> Answer {
        let resolved = contents.resolve(revision);
        let with_blobs = self.parameter("blobs").is_some_and(|value| is_true(&value));
        let siblings = |tree: &Tree| -> Vec<Value> {
            tree.iter()
                .map(|(path, blob)| sibling(path, blob, with_blobs))
                .collect()
        };
        let all = json!({
            "_id": "65f0c0ffee0123456789abcd",
            "id": id,
            "author": id.split('/').next(),
            "sha": resolved.map(|(commit, _)| commit),
            "lastModified": DATE,
            "createdAt": DATE,
            "private": matches!(contents.access, Access::Private(_)),
            "gated": match contents.access { Access::Gated(_) => json!("manual"), _ => json!(false) },
            "disabled": false,
            "downloads": 0,
            "likes": 0,
            "tags": [],
            "siblings": resolved.map(|(_, tree)| siblings(tree)),
        });
        let wanted: Vec<String> = parameters(self.query)
            .filter(|(name, _)| name == "expand" || name == "expand[]")
            .map(|(_, value)| value)
            .collect();
        let Value::Object(mut fields) = all else {
            return no_page();
        };
        if let Some(unknown) = wanted.iter().find(|name| !fields.contains_key(*name)) {
            return refusal(400, None, &format!("Invalid option: {unknown}"));
        }
        if !wanted.is_empty() {
            fields.retain(|name, _| name == "_id" || name == "id" || wanted.contains(name));
        }
        json_answer(&Value::Object(fields))
    }

    fn tree(&self, commit: &str, tree: &Tree, folder: &str) -> Answer {
        let is_recursive = self.parameter("recursive").is_some_and(|value| is_true(&value));
        let expand = self.parameter("expand").is_some_and(|value| is_true(&value));
        let entries = entries(commit, tree, folder, is_recursive, expand);
        if entries.is_empty() && !folder.is_empty() {
            return no_entry(commit);
        }
        let limit = self.parameter("limit").and_then(|limit| limit.parse().ok());
        let page = limit.map_or(self.state.page, |limit: usize| limit.min(self.state.page));
        let start: usize = self
            .parameter("cursor")
            .and_then(|cursor| cursor.parse().ok())
            .unwrap_or(0);
        let shown: Vec<&Value> = entries.iter().skip(start).take(page).collect();
        let answer = json_answer(&json!(shown));
        let next = start + shown.len();
        if next == entries.len() {
            return answer;
        }
        let query: Vec<&str> = self
            .query
            .split('&')
            .filter(|parameter| !parameter.is_empty() && !parameter.starts_with("cursor="))
            .collect();
        let link = format!(
            "{}{}?{}&cursor={next}",
            self.shared.endpoint,
            self.path,
            query.join("&")
        );
        answer.with("Link", format!("<{link}>; rel=\"next\""))
    }

    /// Where a file lies: in the storage if it is a large one, else under another address of the hub.
    fn file(&self, kind: Kind, owner: &str, name: &str, revision: &str, path: &str) -> Answer {
        let id = format!("{owner}/{name}");
        let contents = match self.repository(kind, &id, Right::Read) {
            Ok(contents) => contents,
            Err(answer) => return answer,
        };
        let Some((commit, tree)) = contents.resolve(revision) else {
            return no_revision(revision);
        };
        let Some(blob) = tree.get(path) else {
            return no_entry(commit);
        };
        if let Some(sha256) = &blob.sha256 {
            let target = format!("/repos/{sha256}");
            let location = format!("{}{target}?{}", self.shared.storage, signature(&target));
            return Answer::new(302, format!("Found. Redirecting to {location}"))
                .with("Location", location)
                .with("X-Repo-Commit", commit)
                .with("X-Linked-Size", blob.bytes.len().to_string())
                .with("X-Linked-Etag", format!("\"{sha256}\""));
        }
        let plural = match kind {
            Kind::Dataset => "datasets",
            Kind::Model => "models",
            Kind::Space => "spaces",
        };
        let path: Vec<String> = path
            .split('/')
            .map(|segment| utf8_percent_encode(segment, NON_ALPHANUMERIC).to_string())
            .collect();
        let location = format!("/api/resolve-cache/{plural}/{id}/{commit}/{}", path.join("/"));
        Answer::new(307, "Temporary Redirect")
            .with("Location", location)
            .with("X-Repo-Commit", commit)
    }

    fn cached(&self, kind: Kind, owner: &str, name: &str, commit: &str, path: &str) -> Answer {
        let contents = match self.repository(kind, &format!("{owner}/{name}"), Right::Read) {
            Ok(contents) => contents,
            Err(answer) => return answer,
        };
        let Some((commit, tree)) = contents.resolve(commit) else {
            return no_revision(commit);
        };
        let Some(blob) = tree.get(path) else {
            return no_entry(commit);
        };
        whole(blob, blob.tag()).with("X-Repo-Commit", commit)
    }

    fn parameter(&self, name: &str) -> Option<String> {
        let (_, value) = parameters(self.query).find(|(found, _)| found == name)?;
        Some(value)
    }
}

/// The storage knows hashes and signatures, and nothing of repositories and tokens.
fn stored(state: &State, path: &str, query: &str, request: &Request) -> Answer {
    if header(&request.headers, "authorization").is_some() {
        return Answer::new(400, "Only one authentication mechanism is allowed");
    }
    if query != signature(path) {
        return Answer::new(403, "SignatureDoesNotMatch");
    }
    let Some(bytes) = path
        .strip_prefix("/repos/")
        .and_then(|sha256| state.storage.get(sha256))
    else {
        return Answer::new(404, "NoSuchKey");
    };
    let blob = Blob {
        oid: String::new(),
        sha256: None,
        bytes: bytes.clone(),
    };
    // Its own kind of tag.
    whole(&blob, &path[7..39])
}

fn whole(blob: &Blob, tag: &str) -> Answer {
    let mut answer = Answer::new(200, Vec::new())
        .with("ETag", format!("\"{tag}\""))
        .with("Accept-Ranges", "bytes");
    answer.body = Body::new(blob.bytes.clone());
    answer
}

fn signature(path: &str) -> String {
    let signature = hex(&Sha256::digest(format!("{SECRET} {path}")));
    format!("Expires=4102444800&Signature={signature}&Key-Pair-Id=K1")
}

fn paths_info(commit: &str, tree: &Tree, body: &[u8]) -> Answer {
    let found: Vec<Value> = wanted_paths(body)
        .iter()
        .filter_map(|path| {
            if let Some(blob) = tree.get(path) {
                return Some(file_entry(commit, path, blob, false));
            }
            let folder = format!("{path}/");
            let is_folder = tree.keys().any(|file| file.starts_with(&folder));
            is_folder.then(|| folder_entry(commit, path, false))
        })
        .collect();
    json_answer(&json!(found))
}

/// As JSON, or as a form.
fn wanted_paths(body: &[u8]) -> Vec<String> {
    if let Ok(json) = serde_json::from_slice::<Value>(body) {
        let paths = json["paths"].as_array().cloned().unwrap_or_default();
        return paths
            .iter()
            .filter_map(|path| path.as_str().map(str::to_owned))
            .collect();
    }
    parameters(&String::from_utf8_lossy(body))
        .filter(|(name, _)| name == "paths")
        .map(|(_, value)| value)
        .collect()
}

fn entries(commit: &str, tree: &Tree, folder: &str, is_recursive: bool, expand: bool) -> Vec<Value> {
    let prefix = if folder.is_empty() {
        String::new()
    } else {
        format!("{folder}/")
    };
    let mut folders: Vec<&str> = Vec::new();
    let mut entries = Vec::new();
    for (path, blob) in tree {
        let Some(rest) = path.strip_prefix(&prefix) else {
            continue;
        };
        let ends = rest.match_indices('/').map(|(at, _)| &path[..prefix.len() + at]);
        let depth = if is_recursive { usize::MAX } else { 1 };
        for parent in ends.take(depth) {
            if !folders.contains(&parent) {
                folders.push(parent);
                entries.push(folder_entry(commit, parent, expand));
            }
        }
        if is_recursive || !rest.contains('/') {
            entries.push(file_entry(commit, path, blob, expand));
        }
    }
    entries
}

fn file_entry(commit: &str, path: &str, blob: &Blob, expand: bool) -> Value {
    let mut entry = json!({"type": "file", "oid": blob.oid, "size": blob.bytes.len(), "path": path});
    if let (Some(sha256), Some(pointer)) = (&blob.sha256, blob.pointer_size()) {
        entry["lfs"] = json!({"oid": sha256, "size": blob.bytes.len(), "pointerSize": pointer});
    }
    expanded(entry, commit, expand)
}

fn folder_entry(commit: &str, path: &str, expand: bool) -> Value {
    let oid = &hex(&Sha256::digest(format!("{commit} {path}")))[..40];
    expanded(
        json!({"type": "directory", "oid": oid, "size": 0, "path": path}),
        commit,
        expand,
    )
}

fn expanded(mut entry: Value, commit: &str, expand: bool) -> Value {
    if expand {
        entry["lastCommit"] = json!({"id": commit, "title": "Add files", "date": DATE});
    }
    entry
}

fn sibling(path: &str, blob: &Blob, with_blobs: bool) -> Value {
    let mut sibling = json!({"rfilename": path});
    if with_blobs {
        sibling["size"] = json!(blob.bytes.len());
        sibling["blobId"] = json!(blob.oid);
        if let (Some(sha256), Some(pointer)) = (&blob.sha256, blob.pointer_size()) {
            sibling["lfs"] = json!({"sha256": sha256, "size": blob.bytes.len(), "pointerSize": pointer});
        }
    }
    sibling
}

fn refs(contents: &Contents) -> Answer {
    let list =
        |names: &mut dyn Iterator<Item = (&String, &String)>, prefix: &str, strip: &str| -> Vec<Value> {
            names
                .map(|(name, commit)| {
                    let short = name.strip_prefix(strip).unwrap_or(name);
                    json!({"name": short, "ref": format!("{prefix}{name}"), "targetCommit": commit})
                })
                .collect()
        };
    let is_convert = |name: &str| name.starts_with("refs/convert/");
    let branches = &contents.branches;
    json_answer(&json!({
        "branches": list(&mut branches.iter().filter(|(name, _)| !is_convert(name)), "refs/heads/", ""),
        "converts": list(&mut branches.iter().filter(|(name, _)| is_convert(name)), "", "refs/convert/"),
        "tags": list(&mut contents.tags.iter(), "refs/tags/", ""),
    }))
}

fn parameters(query: &str) -> impl Iterator<Item = (String, String)> {
    query
        .split('&')
        .filter(|parameter| !parameter.is_empty())
        .map(|parameter| {
            let (name, value) = parameter.split_once('=').unwrap_or((parameter, ""));
            (decoded(name), decoded(&value.replace('+', " ")))
        })
}

fn decoded(text: &str) -> String {
    percent_decode_str(text).decode_utf8_lossy().into_owned()
}

fn is_true(text: &str) -> bool {
    text.eq_ignore_ascii_case("true") || text == "1"
}

fn json_answer(value: &Value) -> Answer {
    Answer::new(200, value.to_string()).with("Content-Type", "application/json; charset=utf-8")
}

fn refusal(status: u16, code: Option<&str>, message: &str) -> Answer {
    let answer = Answer::new(status, json!({"error": message}).to_string())
        .with("Content-Type", "application/json; charset=utf-8")
        .with("X-Error-Message", message);
    match code {
        Some(code) => answer.with("X-Error-Code", code),
        None => answer,
    }
}

fn no_revision(revision: &str) -> Answer {
    refusal(
        404,
        Some("RevisionNotFound"),
        &format!("Invalid rev id: {revision}"),
    )
}

fn no_entry(commit: &str) -> Answer {
    refusal(404, Some("EntryNotFound"), "Entry not found").with("X-Repo-Commit", commit)
}

fn no_page() -> Answer {
    refusal(404, None, "Sorry, we can't find the page you are looking for.")
}
