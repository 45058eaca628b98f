package main

import "bytes"

// issuer is the verified key set of the vectors' world.
var issuer message

var verifiers = map[string]func(data []byte, given message){
	"issuer-keys":  func(data []byte, given message) { verifyKeySet(data, given) },
	"credential":   verifyCredential,
	"proof":        verifyProof,
	"receipt":      verifyReceipt,
	"ticket":       verifyTicket,
	"list":         verifyList,
	"request":      verifyRequest,
	"device-proof": verifyDeviceProof,
}

func verifyKeySet(data []byte, given message) message {
	signed := openSigned("ISSUER_KEYS", "IssuerKeySetBodyV1", data)
	var root []byte
	for _, key := range given["roots"].([][]byte) {
		if bytes.Equal(keyID(key), bytesOf(signed, "key_id")) {
			root = key
		}
	}
	ensure(root != nil, "ISSUER_KEYS_UNKNOWN_ROOT")
	ensure(isSignedBy(root, "IssuerKeySetBodyV1", signed), "ISSUER_KEYS_BAD_SIGNATURE")
	body := openBody("ISSUER_KEYS", "IssuerKeySetBodyV1", signed)
	ensure(numberOf(body, "not_before") < numberOf(body, "not_after"), "ISSUER_KEYS_MALFORMED")
	ids := map[string]bool{string(keyID(root)): true}
	for _, key := range listOf(body, "keys") {
		id := string(bytesOf(key, "key_id"))
		sound := isPublicKey(bytesOf(key, "key")) && id == string(keyID(bytesOf(key, "key"))) && !ids[id]
		ensure(sound && numberOf(key, "not_before") < numberOf(key, "not_after"), "ISSUER_KEYS_MALFORMED")
		ids[id] = true
	}
	at := numberOf(given, "at_seconds")
	ensure(agrees(body, given, "issuer_id"), "ISSUER_KEYS_WRONG_ISSUER")
	ensure(numberOf(body, "not_before") <= at, "ISSUER_KEYS_NOT_YET_VALID")
	ensure(at < numberOf(body, "not_after"), "ISSUER_KEYS_EXPIRED")
	if seen, known := given["seen"].(message); known {
		version, before := numberOf(body, "set_version"), numberOf(seen, "version")
		ensure(version >= before, "ISSUER_KEYS_ROLLBACK")
		ensure(version > before || bytes.Equal(hash("issuer-keys", data), bytesOf(seen, "hash")), "ISSUER_KEYS_FORK")
	}
	return body
}

func openIssued(prefix, name string, purpose uint64, data []byte, isSound func(message) bool) (body, key message) {
	signed := openSigned(prefix, name, data)
	for _, each := range listOf(issuer, "keys") {
		if agrees(each, signed, "key_id") {
			key = each
		}
	}
	ensure(key != nil, prefix+"_UNKNOWN_ISSUER_KEY")
	ensure(numberOf(key, "purpose") == purpose, prefix+"_ISSUER_KEY_PURPOSE")
	ensure(isSignedBy(bytesOf(key, "key"), name, signed), prefix+"_BAD_SIGNATURE")
	body = openBody(prefix, name, signed)
	ensure(isSound(body), prefix+"_MALFORMED")
	ensure(agrees(body, issuer, "issuer_id"), prefix+"_WRONG_ISSUER")
	return body, key
}

func ensureKeyTime(prefix string, key message, at uint64) {
	good := numberOf(key, "not_before") <= at && at < numberOf(key, "not_after")
	ensure(good, prefix+"_ISSUER_KEY_NOT_VALID")
}

func lives(body message, from, to string, atMost uint64) bool {
	begin, end := numberOf(body, from), numberOf(body, to)
	return begin < end && end-begin <= atMost
}

func verifyCredential(data []byte, given message) {
	body, key := openIssued("CRED", "DeviceCredentialBodyV1", 1, data, func(body message) bool {
		return lives(body, "not_before", "not_after", 400*86400) && isPublicKey(bytesOf(body, "leaf_signature_key"))
	})
	at := numberOf(given, "at_seconds")
	ensureKeyTime("CRED", key, at)
	ensure(agrees(body, given, "tenant_id"), "CRED_WRONG_TENANT")
	ensure(agrees(body, given, "app_id"), "CRED_WRONG_APP")
	ensure(same(body, given, "leaf_signature_key", "leaf_key"), "CRED_LEAF_KEY_MISMATCH")
	ensure(numberOf(body, "not_before") <= at, "CRED_NOT_YET_VALID")
	ensure(at < numberOf(body, "not_after"), "CRED_EXPIRED")
	revoked, _ := given["revoked"].([][]byte)
	for _, each := range revoked {
		ensure(!bytes.Equal(each, hash("device-credential", data)), "CRED_REVOKED")
	}
}

func proofIsSound(body message) bool {
	added, removed := listOf(body, "added"), listOf(body, "removed")
	shape := map[uint64]bool{
		1: len(removed) == 0,
		2: len(removed) == 0,
		3: len(added) == 0,
		4: len(added) == 0,
		5: len(added)+len(removed) == 1,
	}[numberOf(body, "op")]
	creates := numberOf(body, "op") == 1
	sound := (len(added) == 0) != (len(removed) == 0) && shape && creates != has(body, "base_state_tag")
	sound = sound && (!creates || !has(body, "base_epoch") && has(body, "requester"))
	for _, subject := range added {
		sound = sound && has(subject, "key_package_ref")
	}
	for _, subject := range removed {
		sound = sound && !has(subject, "key_package_ref")
	}
	return sound && lives(body, "issued_at", "expires_at", 300)
}

func verifyProof(data []byte, given message) {
	body, key := openIssued("PROOF", "MembershipProofBodyV1", 2, data, proofIsSound)
	at := numberOf(given, "at_seconds")
	ensureKeyTime("PROOF", key, at)
	ensure(agrees(body, given, "tenant_id"), "PROOF_WRONG_TENANT")
	ensure(agrees(body, given, "app_id"), "PROOF_WRONG_APP")
	ensure(agrees(body, given, "conversation_id"), "PROOF_WRONG_CONVERSATION")
	ensure(agrees(body, given, "mls_group_id"), "PROOF_WRONG_GROUP")
	ensure(numberOf(body, "base_epoch") >= numberOf(given, "base_epoch"), "PROOF_STALE")
	ensure(numberOf(body, "base_epoch") <= numberOf(given, "base_epoch"), "PROOF_FUTURE_EPOCH")
	ensure(numberOf(body, "op") == 1 || agrees(body, given, "base_state_tag"), "PROOF_FORK")
	ensure(numberOf(body, "issued_at") <= at, "PROOF_NOT_YET_VALID")
	ensure(at < numberOf(body, "expires_at"), "PROOF_EXPIRED")
}

func verifyReceipt(data []byte, given message) {
	body, key := openIssued("RECEIPT", "CommitReceiptBodyV1", 3, data, func(message) bool { return true })
	accepted := numberOf(body, "accepted_at_ms")
	ensureKeyTime("RECEIPT", key, accepted/1000)
	ensure(agrees(body, given, "conversation_id"), "RECEIPT_WRONG_CONVERSATION")
	ensure(agrees(body, given, "mls_group_id"), "RECEIPT_WRONG_GROUP")
	ensure(numberOf(body, "epoch") == numberOf(given, "epoch"), "RECEIPT_WRONG_EPOCH")
	ensure(numberOf(body, "seq") == numberOf(given, "seq"), "RECEIPT_WRONG_SEQ")
	ensure(agrees(body, given, "commit_hash"), "RECEIPT_WRONG_COMMIT")
	ensure(agrees(body, given, "proof_hash"), "RECEIPT_WRONG_PROOF")
	previous, known := given["previous"].(message)
	if given["previous"] != "unknown" {
		ensure(same(body, previous, "previous_receipt_hash", "hash"), "RECEIPT_FORK")
	}
	if known {
		ensure(accepted >= numberOf(previous, "accepted_at_ms"), "RECEIPT_TIME_BACKWARDS")
	}
	ensure(accepted <= numberOf(given, "now_ms")+300_000, "RECEIPT_FROM_FUTURE")
}

func verifyTicket(data []byte, given message) {
	body, key := openIssued("TICKET", "ClaimTicketBodyV1", 3, data, func(body message) bool {
		devices := map[string]bool{}
		for _, one := range listOf(body, "packages") {
			devices[string(bytesOf(one, "device_id"))] = true
		}
		issued, expires := numberOf(body, "issued_at"), numberOf(body, "expires_at")
		return len(devices) == len(listOf(body, "packages")) && issued < expires && expires-issued <= 86400
	})
	at := numberOf(given, "at_seconds")
	ensureKeyTime("TICKET", key, at)
	ensure(agrees(body, given, "tenant_id"), "TICKET_WRONG_TENANT")
	ensure(agrees(body, given, "app_id"), "TICKET_WRONG_APP")
	ensure(agrees(body, given, "conversation_id"), "TICKET_WRONG_CONVERSATION")
	ensure(agrees(body, given, "requester_device_id"), "TICKET_WRONG_DEVICE")
	ensure(numberOf(body, "issued_at") <= at, "TICKET_NOT_YET_VALID")
	ensure(at < numberOf(body, "expires_at"), "TICKET_EXPIRED")
}

func verifyList(data []byte, given message) {
	body, key := openIssued("LIST", "DeviceListBodyV1", 4, data, func(body message) bool {
		devices := map[string]bool{}
		for _, entry := range listOf(body, "entries") {
			devices[string(bytesOf(entry, "device_id"))] = true
		}
		first := numberOf(body, "list_version") == 1
		return first != has(body, "previous_hash") && len(devices) == len(listOf(body, "entries"))
	})
	ensureKeyTime("LIST", key, numberOf(given, "at_seconds"))
	ensure(agrees(body, given, "tenant_id"), "LIST_WRONG_TENANT")
	ensure(agrees(body, given, "app_id"), "LIST_WRONG_APP")
	ensure(agrees(body, given, "user_id"), "LIST_WRONG_USER")
	ensure(numberOf(body, "issued_at") <= numberOf(given, "at_seconds")+300, "LIST_FROM_FUTURE")
}

func verifyRequest(data []byte, given message) {
	signed := openSigned("REQUEST", "DeviceRequestBodyV1", data)
	body := openBody("REQUEST", "DeviceRequestBodyV1", signed)
	leaf := bytesOf(body, "leaf_signature_key")
	ensure(isPublicKey(leaf), "REQUEST_MALFORMED")
	ensure(bytes.Equal(keyID(leaf), bytesOf(signed, "key_id")), "REQUEST_KEY_MISMATCH")
	ensure(isSignedBy(leaf, "DeviceRequestBodyV1", signed), "REQUEST_BAD_SIGNATURE")
	ensure(agrees(body, given, "issuer_id"), "REQUEST_WRONG_ISSUER")
	ensure(agrees(body, given, "tenant_id"), "REQUEST_WRONG_TENANT")
	ensure(agrees(body, given, "app_id"), "REQUEST_WRONG_APP")
	ensure(agrees(body, given, "user_id"), "REQUEST_WRONG_USER")
	ensure(numberOf(body, "issued_at") <= numberOf(given, "at_seconds")+300, "REQUEST_NOT_YET_VALID")
	ensure(numberOf(given, "at_seconds") < numberOf(body, "issued_at")+300, "REQUEST_EXPIRED")
}

func verifyDeviceProof(data []byte, given message) {
	signed := openSigned("DEVICE_PROOF", "DeviceProofBodyV1", data)
	leaf := bytesOf(given, "leaf_key")
	ensure(bytes.Equal(keyID(leaf), bytesOf(signed, "key_id")), "DEVICE_PROOF_KEY_MISMATCH")
	ensure(isSignedBy(leaf, "DeviceProofBodyV1", signed), "DEVICE_PROOF_BAD_SIGNATURE")
	body := openBody("DEVICE_PROOF", "DeviceProofBodyV1", signed)
	ensure(agrees(body, given, "device_id"), "DEVICE_PROOF_WRONG_DEVICE")
	method := hash("method", []byte(given["method"].(string)))
	ensure(bytes.Equal(bytesOf(body, "method_hash"), method), "DEVICE_PROOF_WRONG_METHOD")
	ensure(bytes.Equal(bytesOf(body, "body_hash"), hash("request", bytesOf(given, "request"))), "DEVICE_PROOF_WRONG_BODY")
	ensure(numberOf(body, "issued_at") <= numberOf(given, "at_seconds")+60, "DEVICE_PROOF_NOT_YET_VALID")
	ensure(numberOf(given, "at_seconds") <= numberOf(body, "issued_at")+60, "DEVICE_PROOF_EXPIRED")
}
