package main

import (
	"bytes"
	"errors"
	"sort"
	"strconv"
)

// message is a decoded message: uint64, []byte, string or []message by field name. An absent field is not in it.
type message = map[string]any

type fieldRules struct {
	Number    uint64
	Name      string
	Kind      string
	Required  bool
	Min, Max  string
	Known     []uint64
	KnownBits uint64 `json:"known_bits"`
	Message   string
	Repeated  string
	MaxItems  int `json:"max_items"`
}

type messageRules struct {
	MaxSize int `json:"max_size"`
	Label   string
	Fields  []fieldRules
}

var schema map[string]messageRules

// refused is the code that bytes are refused with.
type refused string

func (r refused) Error() string { return string(r) }

func ensure(holds bool, code string) {
	if !holds {
		panic(refused(code))
	}
}

// codeOf runs act and returns the code that it is refused with, or "ok".
func codeOf(act func()) (code string) {
	defer func() {
		if thrown := recover(); thrown != nil {
			err, isError := thrown.(error)
			var r refused
			if !isError || !errors.As(err, &r) {
				panic(thrown)
			}
			code = string(r)
		}
	}()
	act()
	return "ok"
}

type reader struct {
	data []byte
	at   int
}

func (r *reader) varint() uint64 {
	var value uint64
	for count := 0; count < 10; count++ {
		ensure(r.at < len(r.data), "CPB_TRUNCATED")
		b := r.data[r.at]
		r.at++
		if count == 9 {
			ensure(b < 0x80, "CPB_RANGE")
			ensure(b != 0, "CPB_NON_MINIMAL_VARINT")
			ensure(b == 1, "CPB_RANGE")
		}
		value |= uint64(b&0x7f) << (7 * count)
		if b < 0x80 {
			ensure(b != 0 || count == 0, "CPB_NON_MINIMAL_VARINT")
			return value
		}
	}
	panic(refused("CPB_RANGE"))
}

func decode(name string, data []byte) message {
	rules := schema[name]
	ensure(len(data) <= rules.MaxSize, "CPB_TOO_LARGE")
	byNumber := map[uint64]fieldRules{}
	for _, field := range rules.Fields {
		byNumber[field.Number] = field
	}
	decoded := message{}
	r := &reader{data: data}
	var last uint64
	var previous []byte
	for r.at < len(data) {
		tag := r.varint()
		number, wire := tag>>3, tag&7
		ensure(number != 0, "CPB_TRAILING")
		field, known := byNumber[number]
		ensure(known, "CPB_UNKNOWN_FIELD")
		ensure(wire == wireOf(field), "CPB_WIRE_TYPE")
		ensure(number >= last, "CPB_FIELD_ORDER")
		ensure(number > last || field.Repeated != "", "CPB_DUPLICATE_FIELD")
		if number != last {
			previous = nil
		}
		last = number
		if field.Repeated == "" {
			decoded[field.Name], _ = readValue(r, field)
			continue
		}
		list, _ := decoded[field.Name].([]message)
		ensure(len(list) < field.MaxItems, "CPB_LENGTH")
		element, content := readValue(r, field)
		ensure(field.Repeated != "set" || previous == nil || bytes.Compare(previous, content) < 0, "CPB_SET_ORDER")
		previous = content
		decoded[field.Name] = append(list, element.(message))
	}
	for _, field := range rules.Fields {
		_, present := decoded[field.Name]
		ensure(present || !field.Required, "CPB_REQUIRED")
	}
	return decoded
}

func wireOf(field fieldRules) uint64 {
	if field.Kind == "number" {
		return 0
	}
	return 2
}

func readValue(r *reader, field fieldRules) (value any, content []byte) {
	first := r.varint()
	if field.Kind == "number" {
		checkNumber(field, first)
		return first, nil
	}
	ensure(first <= uint64(len(r.data)-r.at), "CPB_TRUNCATED")
	content = r.data[r.at : r.at+int(first)]
	r.at += int(first)
	ensure(len(content) > 0, "CPB_DEFAULT_ENCODED")
	if field.Kind == "message" {
		return decode(field.Message, content), content
	}
	size := uint64(len(content))
	ensure(number(field.Min) <= size && size <= number(field.Max), "CPB_LENGTH")
	if field.Kind == "bytes" {
		return content, content
	}
	for _, c := range content {
		lower := c >= 'a' && c <= 'z' || c >= '0' && c <= '9'
		ensure(lower || bytes.IndexByte([]byte("._:/-"), c) >= 0, "CPB_ASCII")
	}
	return string(content), content
}

func checkNumber(field fieldRules, value uint64) {
	ensure(value != 0, "CPB_DEFAULT_ENCODED")
	ensure(number(field.Min) <= value && value <= number(field.Max), "CPB_RANGE")
	found := len(field.Known) == 0
	for _, known := range field.Known {
		found = found || known == value
	}
	ensure(found, "CPB_RANGE")
	ensure(field.KnownBits == 0 || value&^field.KnownBits == 0, "CPB_RANGE")
}

func encode(name string, fields message) []byte {
	var out []byte
	for _, field := range schema[name].Fields {
		value, present := fields[field.Name]
		if !present {
			continue
		}
		out = append(out, encodeField(field, value)...)
	}
	return out
}

func encodeField(field fieldRules, value any) []byte {
	tag := varint(field.Number<<3 | wireOf(field))
	var contents [][]byte
	switch typed := value.(type) {
	case uint64:
		return append(tag, varint(typed)...)
	case []byte:
		contents = [][]byte{typed}
	case string:
		contents = [][]byte{[]byte(typed)}
	case []message:
		for _, element := range typed {
			contents = append(contents, encode(field.Message, element))
		}
	}
	if field.Repeated == "set" {
		sort.Slice(contents, func(a, b int) bool { return bytes.Compare(contents[a], contents[b]) < 0 })
	}
	var out []byte
	for _, content := range contents {
		out = append(append(append(out, tag...), varint(uint64(len(content)))...), content...)
	}
	return out
}

func varint(value uint64) []byte {
	var out []byte
	for value >= 0x80 {
		out = append(out, byte(value)|0x80)
		value >>= 7
	}
	return append(out, byte(value))
}

func number(text string) uint64 {
	value, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		panic(err)
	}
	return value
}
