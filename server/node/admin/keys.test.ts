import { mkdtempSync, readFileSync, statSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { equalBytes } from "@signet/canonical/bytes"
import { issuerIdOf } from "@signet/canonical/hash"
import { verifyIssuerKeySet } from "@signet/canonical/issuer-keys"
import { nodeSigner } from "@signet/canonical/node/ed25519"
import {
  type IssuerPurpose,
  maxReceiptKeys,
  type ReceiptKey,
  type ReceiptKeyStore,
} from "@signet/kernel/keys/issuer-keys"
import { beforeEach, expect, test } from "vitest"
import { developmentKeySet, keySetFile } from "../issuer-key-set.ts"
import { type KeysIo, keysCommand } from "./keys.ts"

const nowMs = 1_800_000_000_000
const issuer = "https://auth.example"
const purposes: IssuerPurpose[] = ["CREDENTIAL", "PROOF", "LIST", "RECEIPT"]
const keys = purposes.map((purpose, i) => ({
  purpose,
  generation: 1,
  publicKey: nodeSigner(new Uint8Array(32).fill(i + 1)).publicKey,
  createdAtMs: nowMs - 5_000,
}))

function memoryReceipts(): ReceiptKeyStore {
  const kept: ReceiptKey[] = []
  return {
    list: async () => [...kept],
    add: async (key) => void kept.push(key),
    async remove(publicKey) {
      const at = kept.findIndex((one) => equalBytes(one.publicKey, publicKey))
      return at >= 0 && kept.splice(at, 1).length > 0
    },
  }
}

let receipts: ReceiptKeyStore
let folder: string
let rotated: string[]
let io: KeysIo
const at = (name: string) => join(folder, name)
const run = (...args: string[]) => keysCommand(args, io)
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "signet-keys-"))
  rotated = []
  receipts = memoryReceipts()
  io = {
    nowMs,
    withIssuerKeys: (work) =>
      work({ issuer, publicKeys: () => keys, rotate: async (purpose) => void rotated.push(purpose), receipts }),
  }
})

test("a new root signs the requested keys, and the set verifies under the key that clients pin", async () => {
  const pinned = (await run("root", "new", "--out", at("root.json"))).split(" ").at(-1) ?? ""
  expect(statSync(at("root.json")).mode & 0o777).toBe(0o600)
  await run("issuer", "request", "--out", at("request.json"))
  await run("root", "sign", "--root", at("root.json"), "--keys", at("request.json"), "--out", at("set.json"))
  const set = await keySetFile(at("set.json"))([])
  const verified = verifyIssuerKeySet(set?.issuerKeySet ?? new Uint8Array(), {
    roots: [new Uint8Array(Buffer.from(pinned, "base64url"))],
    issuerId: issuerIdOf(issuer),
    atSeconds: BigInt(nowMs / 1_000),
  })
  expect(verified.keys.size).toBe(4)
  expect(verified.version).toBe(BigInt(nowMs / 1_000))
})

test("no private key is in a request, a set or the terminal output", async () => {
  const said = [
    await run("root", "new", "--out", at("root.json")),
    await run("issuer", "request", "--out", at("request.json")),
    await run("root", "sign", "--root", at("root.json"), "--keys", at("request.json"), "--out", at("set.json")),
  ]
  const { seed } = JSON.parse(readFileSync(at("root.json"), "utf8"))
  for (const name of ["request.json", "set.json"]) expect(readFileSync(at(name), "utf8")).not.toContain(seed)
  expect(said.join()).not.toContain(seed)
})

test("an existing root is never overwritten", async () => {
  await run("root", "new", "--out", at("root.json"))
  await expect(run("root", "new", "--out", at("root.json"))).rejects.toThrow("EEXIST")
})

test("issuer rotate creates a key of the named purpose", async () => {
  await run("issuer", "rotate", "PROOF")
  expect(rotated).toEqual(["PROOF"])
})

const backends = nodeSigner(new Uint8Array(32).fill(9)).publicKey
const textOf = (key: Uint8Array) => Buffer.from(key).toString("base64url")

test("a backend's receipt key is added once, listed and removed", async () => {
  await run("receipts", "add", "--key", textOf(backends), "--name", "edge")
  expect(await run("receipts", "list")).toContain(`${textOf(backends)} 2027-01-15T08:00:00.000Z edge`)
  await run("receipts", "remove", "--key", textOf(backends))
  expect(await run("receipts", "list")).not.toContain(textOf(backends))
  await expect(run("receipts", "remove", "--key", textOf(backends))).rejects.toThrow("No such receipt key")
})

test("an invalid key, the installation's own, or one above the limit is refused", async () => {
  const add = (key: Uint8Array) => run("receipts", "add", "--key", textOf(key))
  await expect(add(new Uint8Array(31))).rejects.toThrow("must be an Ed25519 public key")
  await expect(add(new Uint8Array(32).fill(255))).rejects.toThrow("must be an Ed25519 public key")
  await expect(add(keys[3]?.publicKey ?? expect.fail())).rejects.toThrow("own")
  for (let i = 0; i < maxReceiptKeys; i++) await add(nodeSigner(new Uint8Array(32).fill(20 + i)).publicKey)
  await expect(add(backends)).rejects.toThrow(`${maxReceiptKeys} receipt keys`)
})

test.each([
  ["nothing", []],
  ["an unknown verb of receipts", ["receipts", "give"]],
  ["an unknown verb", ["root", "old"]],
  ["a purpose that is none", ["issuer", "rotate", "TOKENS"]],
  ["two purposes", ["issuer", "rotate", "PROOF", "LIST"]],
  ["no file", ["root", "new"]],
  ["an unknown option", ["root", "new", "--out", "/dev/null", "--force", "yes"]],
  ["no days at all", ["root", "sign", "--root", "a", "--keys", "b", "--out", "c", "--days", "0"]],
])("%s is answered with the list of commands", async (_, args) => {
  await expect(run(...args)).rejects.toThrow("keys root new")
})

test("a file that is not a request, root or set is refused", async () => {
  await run("root", "new", "--out", at("root.json"))
  const asRequest = run("root", "sign", "--root", at("root.json"), "--keys", at("root.json"), "--out", at("set.json"))
  await expect(asRequest).rejects.toThrow("no request")
  await run("issuer", "request", "--out", at("request.json"))
  const asRoot = run(
    "root",
    "sign",
    "--root",
    at("request.json"),
    "--keys",
    at("request.json"),
    "--out",
    at("set.json"),
  )
  await expect(asRoot).rejects.toThrow("no root key")
  await expect(keySetFile(at("request.json"))([])).rejects.toThrow("no signed key set")
  expect(await keySetFile(null)([])).toBeUndefined()
})

test("the development profile keeps its root, and a new key leads to a newer set", async () => {
  const clock = { nowMs: () => nowMs }
  const load = developmentKeySet(folder, issuer, clock)
  const first = await load(keys)
  expect(await load(keys)).toBe(first)
  const versionOf = (set: typeof first) =>
    verifyIssuerKeySet(set?.issuerKeySet ?? new Uint8Array(), {
      roots: [load.rootKey],
      issuerId: issuerIdOf(issuer),
      atSeconds: BigInt(nowMs / 1_000),
    }).version
  const more = { ...keys[0], purpose: "PROOF", generation: 2, createdAtMs: nowMs } as const
  const next = await load([...keys, { ...more, publicKey: nodeSigner(new Uint8Array(32).fill(9)).publicKey }])
  expect(versionOf(next)).toBe(versionOf(first) + 1n)
  expect(developmentKeySet(folder, issuer, clock).rootKey).toEqual(load.rootKey)
})
