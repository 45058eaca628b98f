use std::fmt::Debug;

use openmls::prelude::tls_codec::{Deserialize, Serialize};
use openmls::prelude::*;
use openmls_basic_credential::SignatureKeyPair;
use openmls_rust_crypto::OpenMlsRustCrypto;
use serde_json::{json, Value};

use crate::hex;

const SUITE: Ciphersuite = Ciphersuite::MLS_128_DHKEMX25519_AES128GCM_SHA256_Ed25519;
/// GroupContext extension that binds a group to its conversation.
const CONVERSATION_BINDING: u16 = 0xf0a1;
/// GroupInfo extension that carries the membership proof.
const MEMBERSHIP_PROOF: u16 = 0xf0a2;
const KEY_PACKAGE_SECONDS: u64 = 30 * 86_400;

pub struct Member {
    provider: OpenMlsRustCrypto,
    signer: SignatureKeyPair,
    credential: CredentialWithKey,
    group: Option<MlsGroup>,
}

fn text(error: impl Debug) -> String {
    format!("{error:?}")
}

impl Member {
    /// The credential is opaque: whoever reads it knows what it says.
    pub fn new(seed: Vec<u8>, public_key: Vec<u8>, credential: Vec<u8>) -> Self {
        let signer = SignatureKeyPair::from_raw(SignatureScheme::ED25519, seed, public_key.clone());
        let credential =
            CredentialWithKey { credential: BasicCredential::new(credential).into(), signature_key: public_key.into() };
        Self { provider: OpenMlsRustCrypto::default(), signer, credential, group: None }
    }

    pub fn key_package(&mut self) -> Result<Value, String> {
        let capabilities = Capabilities::builder()
            .versions(vec![ProtocolVersion::Mls10])
            .ciphersuites(vec![SUITE])
            .extensions(vec![ExtensionType::Unknown(CONVERSATION_BINDING), ExtensionType::Unknown(MEMBERSHIP_PROOF)])
            .credentials(vec![CredentialType::Basic])
            .build();
        let made = KeyPackage::builder()
            .leaf_node_capabilities(capabilities)
            .key_package_lifetime(Lifetime::new(KEY_PACKAGE_SECONDS))
            .build(SUITE, &self.provider, &self.signer, self.credential.clone())
            .map_err(text)?;
        let message = MlsMessageOut::from(made.key_package().clone());
        Ok(json!({ "keyPackage": hex::encode(&message.to_bytes().map_err(text)?) }))
    }

    pub fn join(&mut self, welcome: &[u8], tree: &[u8]) -> Result<Value, String> {
        let MlsMessageBodyIn::Welcome(welcome) = read(welcome)?.extract() else {
            return Err("that is no Welcome".into());
        };
        let config = MlsGroupJoinConfig::builder().wire_format_policy(MIXED_PLAINTEXT_WIRE_FORMAT_POLICY).build();
        let processed = ProcessedWelcome::new_from_welcome(&self.provider, &config, welcome).map_err(text)?;
        let proof = processed.unverified_group_info().extensions().unknown(MEMBERSHIP_PROOF).map(|it| it.0.clone());
        let tree = RatchetTreeIn::tls_deserialize_exact(tree).map_err(text)?;
        let staged = processed.into_staged_welcome(&self.provider, Some(tree)).map_err(text)?;
        let group = staged.into_group(&self.provider).map_err(text)?;
        let binding = group.extensions().unknown(CONVERSATION_BINDING).map(|it| it.0.clone());
        self.group = Some(group);
        let (binding, proof) = (binding.unwrap_or_default(), proof.unwrap_or_default());
        Ok(json!({ "at": self.at()?, "binding": hex::encode(&binding), "proof": hex::encode(&proof) }))
    }

    /// Reads a message, or follows a commit.
    pub fn process(&mut self, message: &[u8]) -> Result<Value, String> {
        let message = read(message)?.try_into_protocol_message().map_err(text)?;
        let group = self.group.as_mut().ok_or("in no group")?;
        let processed = group.process_message(&self.provider, message).map_err(text)?;
        let aad = hex::encode(processed.aad());
        let sender = hex::encode(processed.credential().serialized_content());
        match processed.into_content() {
            ProcessedMessageContent::ApplicationMessage(read) => {
                Ok(json!({ "is": "message", "plaintext": hex::encode(&read.into_bytes()), "sender": sender, "aad": aad }))
            }
            ProcessedMessageContent::StagedCommitMessage(staged) => {
                group.merge_staged_commit(&self.provider, *staged).map_err(text)?;
                Ok(json!({ "is": "commit", "at": self.at()?, "sender": sender, "aad": aad }))
            }
            _ => Err("neither a message nor a commit".into()),
        }
    }

    pub fn encrypt(&mut self, plaintext: &[u8], aad: Vec<u8>) -> Result<Value, String> {
        let group = self.group.as_mut().ok_or("in no group")?;
        group.set_aad(aad);
        let message = group.create_message(&self.provider, &self.signer, plaintext).map_err(text)?;
        Ok(json!({ "message": hex::encode(&message.to_bytes().map_err(text)?) }))
    }

    pub fn update(&mut self, aad: Vec<u8>) -> Result<Value, String> {
        self.commit(aad, vec![], |commit| commit.force_self_update(true))
    }

    pub fn add(&mut self, key_package: &[u8], aad: Vec<u8>, proof: Vec<u8>) -> Result<Value, String> {
        let MlsMessageBodyIn::KeyPackage(key_package) = read(key_package)?.extract() else {
            return Err("that is no key package".into());
        };
        let added = key_package.validate(self.provider.crypto(), ProtocolVersion::Mls10).map_err(text)?;
        self.commit(aad, proof, |commit| commit.propose_adds([added]))
    }

    pub fn remove(&mut self, credential: &[u8], aad: Vec<u8>, proof: Vec<u8>) -> Result<Value, String> {
        let group = self.group.as_ref().ok_or("in no group")?;
        let leaving = group.members().find(|member| member.credential.serialized_content() == credential);
        let leaf = leaving.ok_or("no such member")?.index;
        self.commit(aad, proof, |commit| commit.propose_removals([leaf]))
    }

    /// Stages a commit: it counts when the service has taken it.
    fn commit(
        &mut self,
        aad: Vec<u8>,
        proof: Vec<u8>,
        change: impl FnOnce(CommitBuilder<'_, Initial>) -> CommitBuilder<'_, Initial>,
    ) -> Result<Value, String> {
        let group = self.group.as_mut().ok_or("in no group")?;
        group.set_aad(aad);
        let extensions = match proof.is_empty() {
            true => vec![],
            false => vec![Extension::Unknown(MEMBERSHIP_PROOF, UnknownExtension(proof))],
        };
        let bundle = change(group.commit_builder())
            .load_psks(self.provider.storage())
            .map_err(text)?
            .create_group_info_with_extensions(extensions)
            .map_err(text)?
            .build(self.provider.rand(), self.provider.crypto(), &self.signer, |_| true)
            .map_err(text)?
            .stage_commit(&self.provider)
            .map_err(text)?;
        let staged = group.pending_commit().ok_or("nothing is staged")?;
        let tree = staged
            .export_ratchet_tree(self.provider.crypto(), group.export_ratchet_tree())
            .map_err(text)?
            .ok_or("the next tree is not known")?
            .tls_serialize_detached()
            .map_err(text)?;
        let (commit, welcome, group_info) = bundle.into_messages();
        let bytes = |message: Option<MlsMessageOut>| match message {
            Some(message) => message.to_bytes().map(|bytes| hex::encode(&bytes)).map_err(text),
            None => Ok(String::new()),
        };
        Ok(json!({
            "commit": bytes(Some(commit))?,
            "welcome": bytes(welcome)?,
            "groupInfo": bytes(group_info)?,
            "tree": hex::encode(&tree),
        }))
    }

    pub fn accept(&mut self) -> Result<Value, String> {
        let group = self.group.as_mut().ok_or("in no group")?;
        group.merge_pending_commit(&self.provider).map_err(text)?;
        Ok(json!({ "at": self.at()? }))
    }

    fn at(&self) -> Result<Value, String> {
        let group = self.group.as_ref().ok_or("in no group")?;
        let tag = group.confirmation_tag().tls_serialize_detached().map_err(text)?;
        let tree = group.export_ratchet_tree().tls_serialize_detached().map_err(text)?;
        let members: Vec<_> =
            group.members().map(|member| hex::encode(member.credential.serialized_content())).collect();
        Ok(json!({
            "epoch": group.epoch().as_u64(),
            "isMember": group.is_active(),
            // After its length of one byte.
            "confirmationTag": hex::encode(&tag[1..]),
            "tree": hex::encode(&tree),
            "members": members,
        }))
    }
}

fn read(bytes: &[u8]) -> Result<MlsMessageIn, String> {
    MlsMessageIn::tls_deserialize_exact(bytes).map_err(text)
}
