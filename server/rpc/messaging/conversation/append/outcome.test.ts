import { create, toBinary } from "@bufbuild/protobuf"
import { maxBytes } from "@signet/kernel/messaging/limits"
import { CommitConflictSchema } from "@signet/proto/messaging/v1/conflict"
import { expect, test } from "vitest"

test("the details of a conflict fit into gRPC's trailers of 64 KiB", () => {
  const conflict = create(CommitConflictSchema, {
    winningCommitHash: new Uint8Array(32),
    receipt: new Uint8Array(4_096),
    envelope: { message: new Uint8Array(maxBytes.conflictEnvelope), contentHash: new Uint8Array(32) },
  })
  const otherDetails = 4_096
  expect(((toBinary(CommitConflictSchema, conflict).length + otherDetails) * 4) / 3).toBeLessThan(65_536)
})
