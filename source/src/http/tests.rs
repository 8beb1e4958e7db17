use super::*;
use crate::Reference;
use crate::reference::Place;

mod answers;
mod guarded;
mod patience;
mod remote;

fn http_url(text: &str) -> HttpUrl {
    let reference = Reference::parse(text).unwrap();
    let Place::Http(url) = reference.place() else {
        panic!("{text} is not HTTP")
    };
    url.clone()
}

fn source(url: &str) -> HttpSource {
    HttpSource::new(http_url(url), &Access::Ambient, None).unwrap()
}

fn file_of(found: &Found) -> &RemoteFile {
    match &found.shape {
        Shape::File(file) => file,
        Shape::Folder(_) => panic!("a URL is no folder"),
    }
}

async fn read(source: &HttpSource, found: &Found, span: Span) -> Result<Vec<u8>, Problem> {
    drain(source.read(found, file_of(found), span).await?).await
}

async fn drain(mut body: Body) -> Result<Vec<u8>, Problem> {
    let mut bytes = Vec::new();
    while let Some(chunk) = body.next().await? {
        bytes.extend_from_slice(&chunk);
    }
    Ok(bytes)
}
