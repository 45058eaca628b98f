// Checks the vectors with Go's standard library alone, sharing no code with this repository or with check.py.
//
//	cd proto/canonical/vectors/check/go && go run . ../..
//
// Prints what it checked; exits 1 at the first disagreement.
package main

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"sort"
	"strconv"
	"strings"
)

var (
	folder string
	count  int
)

func main() {
	folder = os.Args[1]
	load("schema", &schema)
	keys := loadKeys()
	checkHashes()
	checkSignatures()
	checkMessages(keys)
	checkSafety()
	checkMalformed()
	checkRefusals()
	fmt.Printf("%d checks agree\n", count)
}

func check(what string, holds bool) {
	count++
	if !holds {
		fmt.Fprintln(os.Stderr, "disagrees:", what)
		os.Exit(1)
	}
}

func load(name string, into any) {
	text, err := os.ReadFile(filepath.Join(folder, name+".json"))
	if err == nil {
		err = json.Unmarshal(text, into)
	}
	if err != nil {
		panic(err)
	}
}

func loadKeys() map[string]ed25519.PrivateKey {
	var file struct {
		IssuerID string              `json:"issuer_id"`
		KeySet   string              `json:"key_set"`
		Keys     []map[string]string `json:"keys"`
	}
	load("keys", &file)
	private := map[string]ed25519.PrivateKey{}
	for _, each := range file.Keys {
		private[each["name"]] = ed25519.NewKeyFromSeed(unhex(each["seed"]))
		public := private[each["name"]].Public().(ed25519.PublicKey)
		check("keys", hex.EncodeToString(public) == each["public_key"])
		check("keys", hex.EncodeToString(keyID(public)) == each["key_id"])
	}
	root := []byte(private["root"].Public().(ed25519.PublicKey))
	given := message{"roots": [][]byte{root}, "issuer_id": unhex(file.IssuerID), "at_seconds": uint64(1_800_000_000)}
	issuer = verifyKeySet(unhex(file.KeySet), given)
	return private
}

func checkHashes() {
	var vectors []struct{ Label, Input, Hash string }
	load("hashes", &vectors)
	for _, v := range vectors {
		check("hashes", hex.EncodeToString(hash(v.Label, unhex(v.Input))) == v.Hash)
	}
}

func checkSignatures() {
	var vectors []struct {
		Name      string
		PublicKey string `json:"public_key"`
		Message   string
		Signature string
		Valid     bool
	}
	load("ed25519", &vectors)
	for _, v := range vectors {
		check("ed25519: "+v.Name, verify(unhex(v.PublicKey), unhex(v.Message), unhex(v.Signature)) == v.Valid)
	}
}

type messageVector struct {
	Name, Message, Bytes, Signer, Signature, Signed, Hash string
	Fields                                                map[string]any
	SignatureInput                                        string `json:"signature_input"`
	HashLabel                                             string `json:"hash_label"`
}

func checkMessages(keys map[string]ed25519.PrivateKey) {
	other := " schema keys hashes ed25519 malformed refusals safety-numbers "
	files, _ := filepath.Glob(filepath.Join(folder, "*.json"))
	for _, path := range files {
		name := strings.TrimSuffix(filepath.Base(path), ".json")
		if strings.Contains(other, " "+name+" ") {
			continue
		}
		var vectors []messageVector
		load(name, &vectors)
		for _, v := range vectors {
			checkMessage(name+": "+v.Name, v, keys)
		}
	}
}

func checkMessage(what string, v messageVector, keys map[string]ed25519.PrivateKey) {
	data, fields := unhex(v.Bytes), fromPlain(v.Message, v.Fields)
	check(what, bytes.Equal(encode(v.Message, fields), data))
	check(what, reflect.DeepEqual(decode(v.Message, data), fields))
	if v.Signed == "" {
		return
	}
	input := signatureInput(v.Message, data)
	check(what, hex.EncodeToString(input) == v.SignatureInput)
	private := keys[v.Signer]
	signature := ed25519.Sign(private, input)
	check(what, hex.EncodeToString(signature) == v.Signature)
	public := []byte(private.Public().(ed25519.PublicKey))
	check(what, verify(public, input, signature))
	signed := message{"body": data, "scheme": uint64(0x0807), "key_id": keyID(public), "signature": signature}
	check(what, bytes.Equal(encode("SignedBytesV1", signed), unhex(v.Signed)))
	if v.Hash != "" {
		check(what, hex.EncodeToString(hash(v.HashLabel, unhex(v.Signed))) == v.Hash)
	}
}

// fromPlain reads fields as the vectors write them: bytes in hexadecimal, 64-bit numbers as strings.
func fromPlain(name string, plain map[string]any) message {
	fields := message{}
	for _, field := range schema[name].Fields {
		value, present := plain[field.Name]
		if !present {
			continue
		}
		switch field.Kind {
		case "number":
			fields[field.Name] = number(fmt.Sprint(value))
		case "bytes":
			fields[field.Name] = unhex(value.(string))
		case "string":
			fields[field.Name] = value
		case "message":
			var list []message
			for _, element := range value.([]any) {
				list = append(list, fromPlain(field.Message, element.(map[string]any)))
			}
			fields[field.Name] = list
		}
	}
	return fields
}

type safetyUser struct {
	TenantID    *string `json:"tenant_id"`
	AppID       string  `json:"app_id"`
	UserID      string  `json:"user_id"`
	DeviceID    string  `json:"device_id"`
	LeafKey     string  `json:"leaf_key"`
	Fingerprint string
	Devices     []safetyUser
}

func checkSafety() {
	var file struct {
		Device safetyUser
		Users  []safetyUser
		Number struct{ One, Other, Digits string }
		QR     struct {
			Text          string
			Local, Remote struct{ Fingerprint string }
		}
	}
	load("safety-numbers", &file)
	device := file.Device
	named := scope(device)
	named["device_id"], named["scheme"], named["key"] = unhex(device.DeviceID), uint64(0x0807), unhex(device.LeafKey)
	print := hash("device-fingerprint/v1", encode("DeviceFingerprintV1", named))
	check("safety-numbers: device", hex.EncodeToString(print) == device.Fingerprint)
	for _, user := range file.Users {
		check("safety-numbers: user", hex.EncodeToString(fingerprintOf(user)) == user.Fingerprint)
	}
	halves := []string{digits(unhex(file.Number.One)), digits(unhex(file.Number.Other))}
	sort.Strings(halves)
	check("safety-numbers: number", strings.Join(halves, " ") == file.Number.Digits)
	scanned, err := base64.RawURLEncoding.Strict().DecodeString(file.QR.Text)
	check("safety-numbers: text", err == nil)
	code := decode("SafetyQrV1", scanned)
	check("safety-numbers: local", hex.EncodeToString(bytesOf(code, "local_fingerprint")) == file.QR.Local.Fingerprint)
	check("safety-numbers: remote", hex.EncodeToString(bytesOf(code, "remote_fingerprint")) == file.QR.Remote.Fingerprint)
}

func scope(user safetyUser) message {
	fields := message{"app_id": unhex(user.AppID), "user_id": unhex(user.UserID)}
	if user.TenantID != nil {
		fields["tenant_id"] = unhex(*user.TenantID)
	}
	return fields
}

func fingerprintOf(user safetyUser) []byte {
	fields := scope(user)
	var keys []message
	for _, each := range user.Devices {
		keys = append(keys, message{"device_id": unhex(each.DeviceID), "scheme": uint64(0x0807), "key": unhex(each.LeafKey)})
	}
	fields["version"], fields["keys"] = uint64(1), keys
	keySet := encode("UserKeySetV1", fields)
	digest := sha512.Sum512(append(append([]byte{0, 1}, keySet...), unhex(user.UserID)...))
	for i := 0; i < 5200; i++ {
		digest = sha512.Sum512(append(digest[:], keySet...))
	}
	return digest[:32]
}

func digits(fingerprint []byte) string {
	var groups []string
	for at := 0; at < 30; at += 5 {
		var value uint64
		for _, b := range fingerprint[at : at+5] {
			value = value<<8 | uint64(b)
		}
		groups = append(groups, fmt.Sprintf("%05d", value%100000))
	}
	return strings.Join(groups, " ")
}

func checkMalformed() {
	var vectors []struct{ Message, Name, Bytes, Code string }
	load("malformed", &vectors)
	for _, v := range vectors {
		code := codeOf(func() { decode(v.Message, unhex(v.Bytes)) })
		check(fmt.Sprintf("malformed: %s, %s: %s", v.Message, v.Name, code), code == v.Code)
	}
}

func checkRefusals() {
	var vectors []struct {
		Kind, Name, Bytes, Code string
		Given                   map[string]any
	}
	load("refusals", &vectors)
	for _, v := range vectors {
		given := expectation("", v.Given).(message)
		code := codeOf(func() { verifiers[v.Kind](unhex(v.Bytes), given) })
		check(fmt.Sprintf("refusals: %s, %s: %s", v.Kind, v.Name, code), code == v.Code)
	}
}

// expectation reads what a verifier is given; an absent value is left out.
func expectation(name string, plain any) any {
	switch value := plain.(type) {
	case map[string]any:
		fields := message{}
		for inner, each := range value {
			if each != nil {
				fields[inner] = expectation(inner, each)
			}
		}
		return fields
	case []any:
		list := [][]byte{}
		for _, each := range value {
			list = append(list, unhex(each.(string)))
		}
		return list
	case string:
		if name == "method" || value == "first" || value == "unknown" {
			return value
		}
		if strings.Contains(" at_seconds now_ms epoch seq base_epoch version accepted_at_ms ", " "+name+" ") {
			return number(value)
		}
		return unhex(value)
	}
	panic("an expectation of another type: " + strconv.Quote(name))
}

func unhex(text string) []byte {
	data, err := hex.DecodeString(text)
	if err != nil {
		panic(err)
	}
	return data
}
