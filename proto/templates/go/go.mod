module signet.dev/proto/gen

go 1.25

require (
	buf.build/gen/go/bufbuild/protovalidate/protocolbuffers/go v1.36.12-20260825204119-511051f7f437.2
	google.golang.org/genproto/googleapis/api v0.0.0-20261019180522-ce908d29299b
	google.golang.org/grpc v1.85.0
	google.golang.org/protobuf v1.36.12
	signet.dev/guard v0.0.0
)

// A copy of guards/go, beside gen/.
replace signet.dev/guard => ../guard
