/** The guard before gRPC handlers. Needs grpc-api and grpc-protobuf. */
package dev.signet.guard.grpc;
