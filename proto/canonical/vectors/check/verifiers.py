"""What is signed, and each reason to refuse it."""
from codec import SCHEMA, Refused, decode, ensure
from signed import H, is_public_key, key_id, signature_input, verify

ISSUER = {}  # the verified key set, filled by check.py


def open_signed(prefix, name, data):
    try:
        signed = decode("SignedBytesV1", data)
        ensure(len(signed["body"]) <= SCHEMA[name]["max_size"], "CPB_TOO_LARGE")
        return signed
    except Refused:
        raise Refused(f"{prefix}_MALFORMED")


def open_body(prefix, name, body):
    try:
        return decode(name, body)
    except Refused:
        raise Refused(f"{prefix}_MALFORMED")


def verify_key_set(data, given):
    signed = open_signed("ISSUER_KEYS", "IssuerKeySetBodyV1", data)
    root = next((key for key in given["roots"] if key_id(key) == signed["key_id"]), None)
    ensure(root is not None, "ISSUER_KEYS_UNKNOWN_ROOT")
    good = verify(root, signature_input("IssuerKeySetBodyV1", signed["body"]), signed["signature"])
    ensure(good, "ISSUER_KEYS_BAD_SIGNATURE")
    body = open_body("ISSUER_KEYS", "IssuerKeySetBodyV1", signed["body"])
    ensure(body["not_before"] < body["not_after"], "ISSUER_KEYS_MALFORMED")
    seen_ids = {key_id(root)}
    for key in body["keys"]:
        sound = is_public_key(key["key"]) and key["key_id"] == key_id(key["key"]) and key["key_id"] not in seen_ids
        ensure(sound and key["not_before"] < key["not_after"], "ISSUER_KEYS_MALFORMED")
        seen_ids.add(key["key_id"])
    ensure(body["issuer_id"] == given["issuer_id"], "ISSUER_KEYS_WRONG_ISSUER")
    ensure(body["not_before"] <= given["at_seconds"], "ISSUER_KEYS_NOT_YET_VALID")
    ensure(given["at_seconds"] < body["not_after"], "ISSUER_KEYS_EXPIRED")
    seen = given.get("seen")
    if seen is not None:
        ensure(body["set_version"] >= seen["version"], "ISSUER_KEYS_ROLLBACK")
        same = H("issuer-keys", data) == seen["hash"]
        ensure(body["set_version"] > seen["version"] or same, "ISSUER_KEYS_FORK")
    return body


def open_issued(prefix, name, purpose, data, is_sound):
    signed = open_signed(prefix, name, data)
    key = next((key for key in ISSUER["keys"] if key["key_id"] == signed["key_id"]), None)
    ensure(key is not None, f"{prefix}_UNKNOWN_ISSUER_KEY")
    ensure(key["purpose"] == purpose, f"{prefix}_ISSUER_KEY_PURPOSE")
    good = verify(key["key"], signature_input(name, signed["body"]), signed["signature"])
    ensure(good, f"{prefix}_BAD_SIGNATURE")
    body = open_body(prefix, name, signed["body"])
    ensure(is_sound(body), f"{prefix}_MALFORMED")
    ensure(body["issuer_id"] == ISSUER["issuer_id"], f"{prefix}_WRONG_ISSUER")
    return body, key


def ensure_key_time(prefix, key, at):
    ensure(key["not_before"] <= at < key["not_after"], f"{prefix}_ISSUER_KEY_NOT_VALID")


def credential_is_sound(body):
    return 0 < body["not_after"] - body["not_before"] <= 400 * 86400 and is_public_key(body["leaf_signature_key"])


def verify_credential(data, given):
    body, key = open_issued("CRED", "DeviceCredentialBodyV1", 1, data, credential_is_sound)
    at = given["at_seconds"]
    ensure_key_time("CRED", key, at)
    ensure(body.get("tenant_id") == given["tenant_id"], "CRED_WRONG_TENANT")
    ensure(body["app_id"] == given["app_id"], "CRED_WRONG_APP")
    ensure(body["leaf_signature_key"] == given["leaf_key"], "CRED_LEAF_KEY_MISMATCH")
    ensure(body["not_before"] <= at, "CRED_NOT_YET_VALID")
    ensure(at < body["not_after"], "CRED_EXPIRED")
    ensure(H("device-credential", data) not in given.get("revoked", []), "CRED_REVOKED")


CREATE, ADD, REMOVE, LEAVE, REJOIN = range(1, 6)


def proof_is_sound(body):
    added, removed = body.get("added", []), body.get("removed", [])
    shapes = {CREATE: not removed, ADD: not removed, REMOVE: not added, LEAVE: not added}
    creates = body["op"] == CREATE
    return (
        bool(added) != bool(removed)
        and shapes.get(body["op"], len(added) + len(removed) == 1)
        and creates == ("base_state_tag" not in body)
        and (not creates or ("base_epoch" not in body and "requester" in body))
        and all("key_package_ref" in subject for subject in added)
        and not any("key_package_ref" in subject for subject in removed)
        and 0 < body["expires_at"] - body["issued_at"] <= 300
    )


def verify_proof(data, given):
    body, key = open_issued("PROOF", "MembershipProofBodyV1", 2, data, proof_is_sound)
    at = given["at_seconds"]
    ensure_key_time("PROOF", key, at)
    ensure(body.get("tenant_id") == given["tenant_id"], "PROOF_WRONG_TENANT")
    ensure(body["app_id"] == given["app_id"], "PROOF_WRONG_APP")
    ensure(body["conversation_id"] == given["conversation_id"], "PROOF_WRONG_CONVERSATION")
    ensure(body["mls_group_id"] == given["mls_group_id"], "PROOF_WRONG_GROUP")
    epoch = body.get("base_epoch", 0)
    ensure(epoch >= given["base_epoch"], "PROOF_STALE")
    ensure(epoch <= given["base_epoch"], "PROOF_FUTURE_EPOCH")
    ensure(body["op"] == CREATE or body["base_state_tag"] == given["base_state_tag"], "PROOF_FORK")
    ensure(body["issued_at"] <= at, "PROOF_NOT_YET_VALID")
    ensure(at < body["expires_at"], "PROOF_EXPIRED")


def verify_receipt(data, given):
    body, key = open_issued("RECEIPT", "CommitReceiptBodyV1", 3, data, lambda _: True)
    accepted = body["accepted_at_ms"]
    ensure_key_time("RECEIPT", key, accepted // 1000)
    ensure(body["conversation_id"] == given["conversation_id"], "RECEIPT_WRONG_CONVERSATION")
    ensure(body["mls_group_id"] == given["mls_group_id"], "RECEIPT_WRONG_GROUP")
    ensure(body.get("epoch", 0) == given["epoch"], "RECEIPT_WRONG_EPOCH")
    ensure(body["seq"] == given["seq"], "RECEIPT_WRONG_SEQ")
    ensure(body["commit_hash"] == given["commit_hash"], "RECEIPT_WRONG_COMMIT")
    ensure(body.get("proof_hash") == given["proof_hash"], "RECEIPT_WRONG_PROOF")
    previous = given["previous"]
    if previous != "unknown":
        named = None if previous == "first" else previous["hash"]
        ensure(body.get("previous_receipt_hash") == named, "RECEIPT_FORK")
    if isinstance(previous, dict):
        ensure(accepted >= previous["accepted_at_ms"], "RECEIPT_TIME_BACKWARDS")
    ensure(accepted <= given["now_ms"] + 300_000, "RECEIPT_FROM_FUTURE")


def ticket_is_sound(body):
    devices = {package["device_id"] for package in body["packages"]}
    return len(devices) == len(body["packages"]) and 0 < body["expires_at"] - body["issued_at"] <= 86_400


def verify_ticket(data, given):
    body, key = open_issued("TICKET", "ClaimTicketBodyV1", 3, data, ticket_is_sound)
    at = given["at_seconds"]
    ensure_key_time("TICKET", key, at)
    ensure(body.get("tenant_id") == given["tenant_id"], "TICKET_WRONG_TENANT")
    ensure(body["app_id"] == given["app_id"], "TICKET_WRONG_APP")
    ensure(body["conversation_id"] == given["conversation_id"], "TICKET_WRONG_CONVERSATION")
    ensure(body["requester_device_id"] == given["requester_device_id"], "TICKET_WRONG_DEVICE")
    ensure(body["issued_at"] <= at, "TICKET_NOT_YET_VALID")
    ensure(at < body["expires_at"], "TICKET_EXPIRED")


def list_is_sound(body):
    devices = {entry["device_id"] for entry in body["entries"]}
    first = body["list_version"] == 1
    return first == ("previous_hash" not in body) and len(devices) == len(body["entries"])


def verify_list(data, given):
    body, key = open_issued("LIST", "DeviceListBodyV1", 4, data, list_is_sound)
    ensure_key_time("LIST", key, given["at_seconds"])
    ensure(body.get("tenant_id") == given["tenant_id"], "LIST_WRONG_TENANT")
    ensure(body["app_id"] == given["app_id"], "LIST_WRONG_APP")
    ensure(body["user_id"] == given["user_id"], "LIST_WRONG_USER")
    ensure(body["issued_at"] <= given["at_seconds"] + 300, "LIST_FROM_FUTURE")


def verify_request(data, given):
    signed = open_signed("REQUEST", "DeviceRequestBodyV1", data)
    body = open_body("REQUEST", "DeviceRequestBodyV1", signed["body"])
    leaf = body["leaf_signature_key"]
    ensure(is_public_key(leaf), "REQUEST_MALFORMED")
    ensure(signed["key_id"] == key_id(leaf), "REQUEST_KEY_MISMATCH")
    good = verify(leaf, signature_input("DeviceRequestBodyV1", signed["body"]), signed["signature"])
    ensure(good, "REQUEST_BAD_SIGNATURE")
    ensure(body["issuer_id"] == given["issuer_id"], "REQUEST_WRONG_ISSUER")
    ensure(body.get("tenant_id") == given["tenant_id"], "REQUEST_WRONG_TENANT")
    ensure(body["app_id"] == given["app_id"], "REQUEST_WRONG_APP")
    ensure(body["user_id"] == given["user_id"], "REQUEST_WRONG_USER")
    ensure(body["issued_at"] <= given["at_seconds"] + 300, "REQUEST_NOT_YET_VALID")
    ensure(given["at_seconds"] < body["issued_at"] + 300, "REQUEST_EXPIRED")


def verify_device_proof(data, given):
    signed = open_signed("DEVICE_PROOF", "DeviceProofBodyV1", data)
    ensure(signed["key_id"] == key_id(given["leaf_key"]), "DEVICE_PROOF_KEY_MISMATCH")
    good = verify(given["leaf_key"], signature_input("DeviceProofBodyV1", signed["body"]), signed["signature"])
    ensure(good, "DEVICE_PROOF_BAD_SIGNATURE")
    body = open_body("DEVICE_PROOF", "DeviceProofBodyV1", signed["body"])
    ensure(body["device_id"] == given["device_id"], "DEVICE_PROOF_WRONG_DEVICE")
    ensure(body["method_hash"] == H("method", given["method"].encode()), "DEVICE_PROOF_WRONG_METHOD")
    ensure(body["body_hash"] == H("request", given["request"]), "DEVICE_PROOF_WRONG_BODY")
    ensure(body["issued_at"] <= given["at_seconds"] + 60, "DEVICE_PROOF_NOT_YET_VALID")
    ensure(given["at_seconds"] <= body["issued_at"] + 60, "DEVICE_PROOF_EXPIRED")


VERIFIERS = {
    "issuer-keys": verify_key_set,
    "credential": verify_credential,
    "proof": verify_proof,
    "receipt": verify_receipt,
    "ticket": verify_ticket,
    "list": verify_list,
    "request": verify_request,
    "device-proof": verify_device_proof,
}
