//! The dialect over real HTTP, against a strict fake of a compatible server; and the guide, played by a small agent.
#![cfg(test)]

mod chat;
mod embeddings;
mod fake;
mod guide_agent;
mod guide_facts;
mod guide_manners;
mod guide_search;
mod models;
mod raw;
