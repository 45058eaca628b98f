import { randomBytes } from "node:crypto"
import { mkdtempSync, rmSync } from "node:fs"
import { join } from "node:path"
import { toHex } from "@signet/canonical/bytes"
import { issuerIdOf, keyIdOf } from "@signet/canonical/hash"
import { verifyIssuerKeySet } from "@signet/canonical/issuer-keys"
import { nodeSigner } from "@signet/canonical/node/ed25519"
import { KeyPurpose } from "@signet/proto/credential/v1/issuer_key_set"
import Fastify from "fastify"
import { expect, test } from "vitest"
import { fastTmpdir } from "../../test/support/fast-tmpdir.ts"
import { openTestStore, storyStore } from "../../test/support/postgres.ts"
import { createIssuerKeyRing } from "../keys/issuer-keys.ts"
import { createSecrets } from "../keys/secrets.ts"
import { addDevelopmentBackend } from "../node/add-backend.ts"
import { developmentKeySet } from "../node/issuer-key-set.ts"
import { createIssuerKeyStore } from "../store/postgres/keys/issuer-keys.ts"
import { createReceiptKeyStore } from "../store/postgres/keys/receipt-keys.ts"
import { buildDevelopmentApp } from "./app.ts"
import { developmentBackend } from "./backend.ts"

test("a development server registers any caller as a messaging backend, whose receipts are valid at once", async () => {
  const opened = await openTestStore(storyStore)
  const folder = mkdtempSync(join(fastTmpdir(), "signet-backend-"))
  const issuer = "http://127.0.0.1:8080"
  const clock = { nowMs: () => Date.now() }
  const random = { bytes: (length: number) => new Uint8Array(randomBytes(length)) }
  const secrets = createSecrets({
    peppers: [{ version: 1, key: new Uint8Array(32).fill(1) }],
    sealingKey: new Uint8Array(32).fill(2),
  })
  const receiptKeys = createReceiptKeyStore(opened.db)
  const root = developmentKeySet(folder, issuer, clock)
  const keys = createIssuerKeyStore(opened.db)
  const ring = createIssuerKeyRing({ keys, receiptKeys, secrets, clock, random, issuer, loadKeySet: root })
  await ring.start()
  await opened.store.transaction((tx) => tx.apps.putApp(buildDevelopmentApp(issuer, "auth", "messaging")))
  const deps = { store: opened.store, secrets, clock, random, authAudience: "auth" }
  const of = { deps, messagingAudience: "messaging", receiptKeys, issuerKeys: ring, issuerRootKey: root.rootKey }
  const app = Fastify()
  await app.register(developmentBackend, { add: (receiptKey) => addDevelopmentBackend(of, receiptKey) })
  const ask = (body: unknown) =>
    app.inject({ method: "POST", url: "/dev/messaging-backend", payload: JSON.stringify(body), headers: json })

  const { publicKey } = nodeSigner(random.bytes(32))
  const answer = await ask({ receiptKey: textOf(publicKey) })
  expect(answer.headers["cache-control"]).toBe("no-store")
  expect(answer.json()).toMatchObject({ issuerRootKey: textOf(root.rootKey) })
  const again = await ask({ receiptKey: textOf(publicKey) })
  expect(again.json().clientId).toBe(answer.json().clientId)
  expect(again.json().clientSecret).not.toBe(answer.json().clientSecret)
  const { keys: named } = verifyIssuerKeySet(ring.keySet()?.issuerKeySet ?? expect.fail(), {
    roots: [root.rootKey],
    issuerId: issuerIdOf(issuer),
    atSeconds: BigInt(Math.floor(Date.now() / 1_000)),
  })
  expect(named.get(toHex(keyIdOf(publicKey)))?.purpose).toBe(KeyPurpose.RECEIPT)
  expect(named.size).toBe(5)
  // The installation's own receipts still use its own key.
  expect(ring.signer("RECEIPT").publicKey).not.toEqual(publicKey)

  for (const body of [{}, { receiptKey: "" }, { receiptKey: textOf(random.bytes(31)) }, { receiptKey: 7 }, "text"]) {
    expect((await ask(body)).statusCode).toBe(400)
  }
  expect((await ask({ receiptKey: textOf(new Uint8Array(32).fill(255)) })).statusCode).toBe(400)
  expect(await receiptKeys.list()).toHaveLength(1)
  await app.close()
  await opened.close()
  rmSync(folder, { recursive: true, force: true })
})

const json = { "content-type": "application/json" }
const textOf = (key: Uint8Array) => Buffer.from(key).toString("base64url")
