//! One member of one group, by OpenMLS: a request a line on standard input, an answer a line on standard output.
//! Bytes are hexadecimal. What travels, and what it is checked against, is its caller's matter.

mod hex;
mod member;

use std::io::{stdin, stdout, BufRead, Write};

use member::Member;
use serde_json::{json, Value};

fn main() {
    let mut member: Option<Member> = None;
    for line in stdin().lock().lines() {
        let Ok(line) = line else { return };
        let answer = match serde_json::from_str(&line) {
            Ok(request) => answer(&mut member, &request),
            Err(error) => Err(error.to_string()),
        };
        let said = answer.unwrap_or_else(|error| json!({ "error": error }));
        let mut out = stdout().lock();
        if writeln!(out, "{said}").and_then(|()| out.flush()).is_err() {
            return;
        }
    }
}

fn answer(member: &mut Option<Member>, request: &Value) -> Result<Value, String> {
    let bytes = |name: &str| hex::decode(request[name].as_str().ok_or(format!("{name} is missing"))?);
    let call = request["call"].as_str().unwrap_or_default();
    if call == "open" {
        *member = Some(Member::new(bytes("seed")?, bytes("publicKey")?, bytes("credential")?));
        return Ok(json!({}));
    }
    let member = member.as_mut().ok_or("open comes first")?;
    match call {
        "keyPackage" => member.key_package(),
        "join" => member.join(&bytes("welcome")?, &bytes("tree")?),
        "process" => member.process(&bytes("message")?),
        "encrypt" => member.encrypt(&bytes("plaintext")?, bytes("aad")?),
        "update" => member.update(bytes("aad")?),
        "add" => member.add(&bytes("keyPackage")?, bytes("aad")?, bytes("proof")?),
        "remove" => member.remove(&bytes("credential")?, bytes("aad")?, bytes("proof")?),
        "accept" => member.accept(),
        _ => Err(format!("there is no call {call}")),
    }
}
