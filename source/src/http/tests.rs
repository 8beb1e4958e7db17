use super::*;
use crate::Reference;
use crate::reference::Place;

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
