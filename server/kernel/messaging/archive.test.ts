import { expect, test } from "vitest"
import type { DeviceId } from "../ids.ts"
import { type Archive, type ArchiveChange, type ArchiveDecision, decideArchive } from "./archive.ts"
import { lifetimeMs, maxBytes, maxCount } from "./limits.ts"

const [old, next, third] = ["dev_old", "dev_new", "dev_third"] as unknown as [DeviceId, DeviceId, DeviceId]
const name = "0123456789abcdef"
const nowMs = 1_000
const asked: Archive = {
  ...{ id: "aa", kind: "TRANSFER", status: "REQUESTED", createdBy: next, writer: null, header: "01", grant: "" },
  ...{ chunks: "", size: 0, createdAtMs: 0, expiresAtMs: 600_000 },
}
const granted: Archive = { ...asked, status: "WRITING", writer: old, grant: "02" }
const backup: Archive = { ...asked, id: "bb", kind: "BACKUP", status: "WRITING", createdBy: old, writer: old }
const outcome = (done: ArchiveDecision) => (done.is === "refuse" ? done.reason : done.is)

test.each<[string, readonly Archive[], ArchiveChange, string]>([
  ["another device grants a request", [asked], { is: "grant", id: "aa", deviceId: old, grant: "02" }, "change"],
  [
    "the requesting device grants nothing",
    [asked],
    { is: "grant", id: "aa", deviceId: next, grant: "02" },
    "STATE_CONFLICT",
  ],
  ["a grant is repeated", [granted], { is: "grant", id: "aa", deviceId: old, grant: "02" }, "there"],
  ["a request is granted once", [granted], { is: "grant", id: "aa", deviceId: third, grant: "03" }, "STATE_CONFLICT"],
  [
    "a granted request gets no other grant",
    [granted],
    { is: "grant", id: "aa", deviceId: old, grant: "03" },
    "STATE_CONFLICT",
  ],
  ["a backup is not granted", [backup], { is: "grant", id: "bb", deviceId: next, grant: "02" }, "STATE_CONFLICT"],
  [
    ...(["an expired request is unknown", [{ ...asked, expiresAtMs: nowMs }]] as const),
    ...([{ is: "grant", id: "aa", deviceId: old, grant: "02" }, "RESOURCE_UNRESOLVED"] as const),
  ],
  [
    "an id is used once",
    [asked],
    { is: "create", id: "aa", deviceId: next, kind: "TRANSFER", header: "99" },
    "IDEMPOTENCY_MISMATCH",
  ],
  [
    "a request is repeated",
    [asked],
    { is: "create", id: "aa", deviceId: next, kind: "TRANSFER", header: "01" },
    "there",
  ],
  [
    ...(["an id is not used again after its end", [{ ...asked, expiresAtMs: nowMs }]] as const),
    ...([{ is: "create", id: "aa", deviceId: next, kind: "TRANSFER", header: "01" }, "IDEMPOTENCY_MISMATCH"] as const),
  ],
  [
    ...(["archives of a user are counted", Array.from({ length: maxCount.archivesPerUser }, () => backup)] as const),
    ...([{ is: "create", id: "cc", deviceId: old, kind: "BACKUP", header: "01" }, "LIMIT_EXCEEDED"] as const),
  ],
  ["the writer appends", [granted], { is: "append", id: "aa", deviceId: old, index: 0, name, size: 1 }, "change"],
  [
    "another device appends nothing",
    [granted],
    { is: "append", id: "aa", deviceId: third, index: 0, name, size: 1 },
    "RESOURCE_UNRESOLVED",
  ],
  [
    "nothing is appended before a grant",
    [asked],
    { is: "append", id: "aa", deviceId: old, index: 0, name, size: 1 },
    "RESOURCE_UNRESOLVED",
  ],
  [
    "no index is left out",
    [granted],
    { is: "append", id: "aa", deviceId: old, index: 1, name, size: 1 },
    "STATE_CONFLICT",
  ],
  [
    ...(["a chunk is not replaced", [{ ...granted, chunks: "f".repeat(16) }]] as const),
    ...([{ is: "append", id: "aa", deviceId: old, index: 0, name, size: 1 }, "STATE_CONFLICT"] as const),
  ],
  [
    ...(["an append is repeated, also after the end", [{ ...granted, chunks: name, status: "COMPLETE" }]] as const),
    ...([{ is: "append", id: "aa", deviceId: old, index: 0, name, size: 1 }, "there"] as const),
  ],
  [
    ...(["the bytes of all archives are counted", [granted, { ...backup, size: maxBytes.archives }]] as const),
    ...([{ is: "append", id: "aa", deviceId: old, index: 0, name, size: 1 }, "LIMIT_EXCEEDED"] as const),
  ],
  [
    ...([
      "the chunks of an archive are counted",
      [{ ...granted, chunks: name.repeat(maxCount.chunksPerArchive) }],
    ] as const),
    ...([
      { is: "append", id: "aa", deviceId: old, index: maxCount.chunksPerArchive, name: "f".repeat(16), size: 1 },
      "LIMIT_EXCEEDED",
    ] as const),
  ],
  [
    "an archive without chunks is not complete",
    [backup],
    { is: "complete", id: "bb", deviceId: old },
    "STATE_CONFLICT",
  ],
  [
    "another device completes nothing",
    [{ ...backup, chunks: name }],
    { is: "complete", id: "bb", deviceId: next },
    "RESOURCE_UNRESOLVED",
  ],
])("%s", (_, archives, change, expected) => {
  expect(outcome(decideArchive(archives, change, nowMs))).toBe(expected)
})

test("a complete backup replaces the earlier complete one, no transfer, and no backup that is being written", () => {
  const earlier: Archive = { ...backup, id: "cc", status: "COMPLETE", chunks: name }
  const done = decideArchive(
    [earlier, granted, { ...backup, id: "dd" }, { ...backup, chunks: name }],
    { is: "complete", id: "bb", deviceId: old },
    nowMs,
  )
  const statuses = done.is === "change" ? done.archives.map(({ id, status }) => [id, status]) : done
  expect(statuses).toEqual([
    ["cc", "DELETED"],
    ["aa", "WRITING"],
    ["dd", "WRITING"],
    ["bb", "COMPLETE"],
  ])
})

test("a backup that is read is stored for another 400 days, and a transfer is not", () => {
  const stored: Archive = { ...backup, status: "COMPLETE", chunks: name, expiresAtMs: nowMs + lifetimeMs.backup }
  const laterMs = nowMs + 200 * 86_400_000
  const read = decideArchive([stored], { is: "read", id: "bb", deviceId: next }, laterMs)
  expect(read.is === "refuse" ? read : read.archive.expiresAtMs).toBe(laterMs + lifetimeMs.backup)
  expect(decideArchive([stored], { is: "read", id: "bb", deviceId: next }, nowMs).is).toBe("there")
  expect(decideArchive([granted], { is: "read", id: "aa", deviceId: next }, nowMs).is).toBe("there")
})
