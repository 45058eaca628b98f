// Attacks with envelopes: by somebody who reads and writes the transport, and by a service.
import { fromBinary, toBinary } from "@bufbuild/protobuf"
import { createActors, type Forged } from "@signet/guard/testing/actors"
import { ids } from "@signet/guard/testing/issuer"
import { active } from "@signet/guard/vectors/build"
import { EnvelopePayloadSchema, PostedEnvelopeSchema } from "@signet/proto/authz/v1/mailbox"
import { describe, expect, test } from "vitest"
import { effort } from "../support/effort.ts"
import { actors, mail, mailboxOf, nowSeconds, post, reasonOf, said, sealed, web } from "../support/mailboxes.ts"

const { access } = actors

const day = 86_400

test("the envelope is accepted before a test alters it", async () => {
  expect(await said(web)).toBe("taken")
})

describe("an envelope that is altered in transit is refused", () => {
  const altered = async (change: (posted: ReturnType<typeof parsed>) => void) => {
    const posted = parsed(await sealed())
    change(posted)
    return reasonOf(mailboxOf().receive(toBinary(PostedEnvelopeSchema, posted)))
  }
  const parsed = (bytes: Uint8Array) => fromBinary(PostedEnvelopeSchema, bytes)

  test("if a message is replaced", async () => {
    expect(await altered((posted) => posted.message.set([9]))).toBe("ENVELOPE_MESSAGE_ALTERED")
    expect(await altered((posted) => void Object.assign(posted, { message: new Uint8Array() }))).toBe(
      "ENVELOPE_MESSAGE_ALTERED",
    )
  })

  test("if a bit of a payload or signature is flipped, or a signature is truncated", async () => {
    expect(await altered(({ chain }) => chain[0]?.payload.set([1], 5))).toBe("ENVELOPE_SIGNATURE_INVALID")
    expect(await altered(({ chain }) => chain[0]?.sig.set([1, 2], 5))).toBe("ENVELOPE_SIGNATURE_INVALID")
    const cut = altered(({ chain }) => {
      for (const each of chain) each.sig = each.sig.subarray(1)
    })
    expect(await cut).toBe("ENVELOPE_SIGNATURE_INVALID")
  })

  test("if the bytes are overwritten during verification", async () => {
    const bytes = await sealed()
    const liveness = async () => {
      // The message is at the end of the envelope.
      bytes.fill(9, bytes.length - post().message.length)
      return { facts: active, asOfMs: access.clock.nowMs() }
    }
    const { receive, handled } = mailboxOf({ guarded: { liveness } })
    await receive(bytes)
    expect(handled.map(({ message }) => [...message])).toEqual([[...post().message]])
  })

  test("if it is delivered to another mailbox", async () => {
    const elsewhere = mailboxOf({ mailbox: "svc-notes/other" })
    expect(await reasonOf(elsewhere.receive(await sealed()))).toBe("ENVELOPE_MAILBOX_MISMATCH")
    expect(elsewhere.handled).toEqual([])
    const other = mailboxOf({ mailbox: "svc-mail/inbox" })
    expect(await reasonOf(other.receive(await sealed()))).toBe("ENVELOPE_MAILBOX_MISMATCH")
  })

  test("if it is delivered again, concurrently or later", async () => {
    const { receive, handled } = mailboxOf()
    const envelope = await sealed()
    const reasons = await Promise.all([receive(envelope), receive(envelope), receive(envelope)].map(reasonOf))
    expect(reasons.filter((reason) => reason === "taken")).toHaveLength(1)
    expect(await reasonOf(receive(envelope))).toBe("ENVELOPE_REPLAYED")
    expect(handled).toHaveLength(1)
  })

  test("without using up the id of an envelope that is still to come", async () => {
    const { receive, handled } = mailboxOf()
    const envelope = await sealed()
    const posted = parsed(envelope)
    posted.message = new Uint8Array([9])
    expect(await reasonOf(receive(toBinary(PostedEnvelopeSchema, posted)))).toBe("ENVELOPE_MESSAGE_ALTERED")
    const { envelopeId = "" } = posted.chain[0] ? fromBinary(EnvelopePayloadSchema, posted.chain[0].payload) : {}
    const other = await actors.actor({ clientId: "svc-other", mailboxes: ["svc-notes/inbox"] })
    await receive(await actors.forge(other, { payload: { envelopeId } }))
    await receive(envelope)
    expect(handled.map(({ id, sender }) => [id, sender.clientId])).toEqual([
      [envelopeId, "svc-other"],
      [envelopeId, "svc-web"],
    ])
  })

  test("and one that is refused for missing authority can be delivered again later", async () => {
    let status = "SUSPENDED"
    const liveness = async () => ({
      facts: Object.assign({}, active, { principal: status }),
      asOfMs: access.clock.nowMs(),
    })
    const { receive, handled } = mailboxOf({ guarded: { liveness } })
    const envelope = await sealed()
    expect(await reasonOf(receive(envelope))).toBe("PRINCIPAL_INACTIVE")
    status = "ACTIVE"
    await receive(envelope)
    expect(handled).toHaveLength(1)
  })

  test("if its bytes are arbitrary", async () => {
    const { receive, handled } = mailboxOf()
    const good = await sealed()
    let seed = 7
    const random = (below: number) => {
      seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648
      return seed % below
    }
    const reasons = new Set<string>()
    for (let i = 0; i < effort(400, 20_000, 200_000); i++) {
      const bytes = new Uint8Array(good)
      for (let n = 1 + random(4); n > 0; n--) bytes[random(bytes.length)] = random(256)
      const cut = random(3) === 0 ? bytes.subarray(0, random(bytes.length)) : bytes
      reasons.add(await reasonOf(receive(cut)))
    }
    for (const reason of reasons) expect(reason).toMatch(/^ENVELOPE_|^taken$/)
    expect(handled.length).toBeLessThanOrEqual(1)
    expect(await reasonOf(receive(new Uint8Array()))).toBe("ENVELOPE_MALFORMED")
    expect(await reasonOf(receive(new Uint8Array(2_000_000)))).toBe("ENVELOPE_MALFORMED")
  })

  test("if unknown fields are added", async () => {
    const unknown = [{ no: 99, wireType: 0, data: new Uint8Array([1]) }]
    const inPosted = altered((posted) => void Object.assign(posted, { $unknown: unknown }))
    expect(await inPosted).toBe("ENVELOPE_MALFORMED")
    const inEnvelope = altered(({ chain }) => {
      for (const each of chain) each.$unknown = unknown
    })
    expect(await inEnvelope).toBe("ENVELOPE_MALFORMED")
    expect(await said(web, { extra: new Uint8Array([0x98, 0x06, 1]) })).toBe("ENVELOPE_MALFORMED")
  })
})

describe("an envelope is refused if its sender", () => {
  test.each<[string, Forged["payload"], string]>([
    ["says that it is somebody else", { issuerPrincipal: ids.service }, "ENVELOPE_CERTIFICATE_INVALID"],
    ["posts where it may not", { mailbox: "svc-notes/admin" }, "ENVELOPE_SENDER_NOT_ALLOWED"],
    ["lets an envelope live for eight days", { exp: 1_700_000_000 + 8 * day }, "ENVELOPE_TOO_LONG_LIVED"],
    ["seals in the future", { iat: 1_700_000_000 + 31, exp: 1_700_000_600 }, "ENVELOPE_NOT_YET_VALID"],
    ["sealed too long ago", { iat: 1_700_000_000 - day, exp: 1_700_000_000 - 30 }, "ENVELOPE_EXPIRED"],
    ["gives an id that is too short", { envelopeId: "1" }, "ENVELOPE_MALFORMED"],
    ["gives a digest that is too short", { messageSha256: new Uint8Array(31) }, "ENVELOPE_MALFORMED"],
    ["says that the envelope follows from another", { parentSha256: new Uint8Array(32) }, "ENVELOPE_CHAIN_BROKEN"],
    ["says that it is a hop of a chain that it does not show", { hop: 1 }, "ENVELOPE_CHAIN_BROKEN"],
    ["carries a scope that its context has not", { scopeSubset: ["notes.read", "x"] }, "ENVELOPE_SCOPES_WIDENED"],
    ["sends for nobody", { contextToken: "" }, "NO_CREDENTIAL"],
    ["sends with a personal access token", { contextToken: `sgpat_${"0".repeat(50)}` }, "PAT_NOT_BEARER"],
  ])("%s", async (_, payload, reason) => {
    expect(await said(web, payload === undefined ? {} : { payload })).toBe(reason)
  })

  test("narrows the scopes of its context below the requirement", async () => {
    const payload = { scopeSubset: [] }
    expect(await said(web, { payload })).toBe("MISSING_SCOPE")
  })

  test("is not among the senders that the mailbox allows", async () => {
    expect(await said(web, {}, { senders: ["svc-web"] })).toBe("taken")
    expect(await said(web, {}, { senders: ["svc-mail", "svc-notes"] })).toBe("ENVELOPE_SENDER_NOT_ALLOWED")
  })
})

describe("an envelope is refused if its certificate", () => {
  const with_ = (certificate: string, change: Forged = {}) => said(web, { ...change, envelope: { certificate } })

  test("is for another key, has another issuer's signature, or is another kind of token", async () => {
    expect(await with_(mail.certificate())).toBe("ENVELOPE_CERTIFICATE_INVALID")
    const stranger = createActors()
    const theirs = await stranger.actor({ clientId: "svc-web", principalId: web.principalId })
    expect(await with_(theirs.certificate())).toBe("ENVELOPE_CERTIFICATE_INVALID")
    expect(await with_(web.certificate({}, { typ: "ctx+jwt" }))).toBe("ENVELOPE_CERTIFICATE_INVALID")
    expect(await with_(web.certificate({}, { alg: "none" }))).toBe("ENVELOPE_CERTIFICATE_INVALID")
    expect(await with_(access.token())).toBe("ENVELOPE_CERTIFICATE_INVALID")
    expect(await with_(actors.contextToken(web))).toBe("ENVELOPE_CERTIFICATE_INVALID")
    expect(await with_("")).toBe("ENVELOPE_CERTIFICATE_INVALID")
  })

  test("is by another issuer, is valid for more than a day, or lacks a claim", async () => {
    expect(await with_(web.certificate({ iss: "https://other.example" }))).toBe("ENVELOPE_CERTIFICATE_INVALID")
    expect(await with_(web.certificate({ exp: nowSeconds() + day + 1 }))).toBe("ENVELOPE_CERTIFICATE_INVALID")
    for (const name of ["sub", "client_id", "app_id", "cnf", "mbx", "own", "iat", "exp"]) {
      expect(await with_(web.certificate({ [name]: undefined }))).toBe("ENVELOPE_CERTIFICATE_INVALID")
    }
    const cnf = { jwk: { kty: "EC", crv: "P-256", kid: web.key.kid, x: web.key.x, y: web.key.x } }
    expect(await with_(web.certificate({ cnf }))).toBe("ENVELOPE_CERTIFICATE_INVALID")
  })

  test("does not name the mailbox", async () => {
    expect(await with_(web.certificate({ mbx: ["svc-mail/*"] }))).toBe("ENVELOPE_SENDER_NOT_ALLOWED")
  })

  test("has expired without a newer one for its key", async () => {
    const past = { iat: nowSeconds() - day - 31, nbf: nowSeconds() - day - 31, exp: nowSeconds() - 31 }
    const envelope = { certificate: web.certificate(past) }
    expect(await said(web, { envelope })).toBe("ENVELOPE_CERTIFICATE_EXPIRED")
    expect(await said(web, { envelope }, { findCertificate: async () => web.certificate() })).toBe("taken")
    expect(await said(web, { envelope }, { findCertificate: async () => undefined })).toBe("ENVELOPE_KEY_REVOKED")
    const ofMail = { findCertificate: async () => mail.certificate() }
    expect(await said(web, { envelope }, ofMail)).toBe("ENVELOPE_CERTIFICATE_INVALID")
    const down = { findCertificate: () => Promise.reject(new Error("down")) }
    expect(await said(web, { envelope }, down)).toBe("UNAVAILABLE")
  })

  test("is of a revoked key or service, or the revocation state is unknown", async () => {
    const revoked = (key: string) => ({ isRevoked: (of: { key: string }) => of.key === key })
    expect(await said(web, {}, revoked(web.key.kid))).toBe("ENVELOPE_KEY_REVOKED")
    expect(await said(web, {}, revoked(web.principalId))).toBe("PRINCIPAL_INACTIVE")
    expect(await said(web, {}, revoked(mail.key.kid))).toBe("taken")
    expect(await said(web, {}, { isRevoked: () => Promise.reject(new Error("stale")) })).toBe("UNAVAILABLE")
  })

  test("is the sender's, but another service signs the envelope", async () => {
    expect(await said(web, { signer: mail })).toBe("ENVELOPE_SIGNATURE_INVALID")
  })
})
