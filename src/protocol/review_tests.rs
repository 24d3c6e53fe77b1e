use super::*;

#[test]
fn the_worked_document_is_accepted() {
    let Some(text) = crate::shape::tests::shared("vectors/a2a-rdf/cases/intent-valid/protocol-document.ttl")
    else {
        return;
    };
    let review = ProtocolDocument::review(&text, "text/turtle", &Limits::default());
    println!("{review:#?}");
    assert!(review.accepted());
}
