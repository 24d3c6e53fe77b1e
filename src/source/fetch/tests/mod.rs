//! The fetcher against hostile name servers, networks, servers and documents.

mod addresses;
mod answers;
mod bodies;
mod policy;
mod redirects;
mod transport;
mod urls;
