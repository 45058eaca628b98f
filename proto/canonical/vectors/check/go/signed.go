package main

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/binary"
	"math/big"
)

// hash is H(label, data) = SHA-256("SIGNET1H" 00 label 00 data).
func hash(label string, data []byte) []byte {
	sum := sha256.Sum256(append([]byte("SIGNET1H\x00"+label+"\x00"), data...))
	return sum[:]
}

func keyID(publicKey []byte) []byte { return hash("key-id", publicKey)[:8] }

// signatureInput is SIG(label, body) = "SIGNET1" 00 label 00 u32be(len(body)) body.
func signatureInput(name string, body []byte) []byte {
	input := binary.BigEndian.AppendUint32([]byte("SIGNET1\x00"+schema[name].Label+"\x00"), uint32(len(body)))
	return append(input, body...)
}

var (
	one    = big.NewInt(1)
	prime  = new(big.Int).Sub(new(big.Int).Lsh(one, 255), big.NewInt(19))
	curveD = mod(new(big.Int).Mul(big.NewInt(-121665), new(big.Int).ModInverse(big.NewInt(121666), prime)))
	order8 = fromText("7a03ac9277fdc74ec6cc392cfa53202a0f67100d760b3cba4fd83d3d706a17c7")
	// The y of the eight points of small order.
	smallOrder = []*big.Int{new(big.Int), one, mod(big.NewInt(-1)), order8, mod(new(big.Int).Neg(order8))}
)

func mod(value *big.Int) *big.Int { return value.Mod(value, prime) }

func fromText(hexadecimal string) *big.Int {
	value, _ := new(big.Int).SetString(hexadecimal, 16)
	return value
}

// yOf returns the y coordinate of 32 bytes that are canonical and not of small order. They may be no point of the curve.
func yOf(point []byte) *big.Int {
	if len(point) != 32 {
		return nil
	}
	reversed := make([]byte, 32)
	for at, b := range point {
		reversed[31-at] = b
	}
	reversed[0] &= 0x7f
	y := new(big.Int).SetBytes(reversed)
	if y.Cmp(prime) >= 0 {
		return nil
	}
	for _, small := range smallOrder {
		if y.Cmp(small) == 0 {
			return nil
		}
	}
	return y
}

// isPublicKey tells a canonical point that is not of small order.
func isPublicKey(key []byte) bool {
	y := yOf(key)
	if y == nil {
		return false
	}
	square := mod(new(big.Int).Mul(y, y))
	above := new(big.Int).Sub(square, one)
	below := mod(new(big.Int).Add(new(big.Int).Mul(curveD, square), one))
	return big.Jacobi(mod(above.Mul(above, new(big.Int).ModInverse(below, prime))), prime) == 1
}

func verify(publicKey, input, signature []byte) bool {
	return len(signature) == 64 && yOf(signature[:32]) != nil && isPublicKey(publicKey) && ed25519.Verify(publicKey, input, signature)
}

// openSigned decodes the envelope; what is wrong with it is the kind's _MALFORMED.
func openSigned(prefix, name string, data []byte) message {
	var signed message
	code := codeOf(func() {
		signed = decode("SignedBytesV1", data)
		ensure(len(bytesOf(signed, "body")) <= schema[name].MaxSize, "CPB_TOO_LARGE")
	})
	ensure(code == "ok", prefix+"_MALFORMED")
	return signed
}

func openBody(prefix, name string, signed message) message {
	var body message
	code := codeOf(func() { body = decode(name, bytesOf(signed, "body")) })
	ensure(code == "ok", prefix+"_MALFORMED")
	return body
}

func isSignedBy(publicKey []byte, name string, signed message) bool {
	return verify(publicKey, signatureInput(name, bytesOf(signed, "body")), bytesOf(signed, "signature"))
}

func bytesOf(m message, name string) []byte   { value, _ := m[name].([]byte); return value }
func numberOf(m message, name string) uint64  { value, _ := m[name].(uint64); return value }
func listOf(m message, name string) []message { value, _ := m[name].([]message); return value }
func has(m message, name string) bool         { _, present := m[name]; return present }
func same(a, b message, name, in string) bool { return bytes.Equal(bytesOf(a, name), bytesOf(b, in)) }
func agrees(a, b message, name string) bool   { return same(a, b, name, name) }
