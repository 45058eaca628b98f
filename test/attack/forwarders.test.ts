// Attempts by a service that received an envelope, or that only read one, to forward more than it may.
import { create, fromBinary } from "@bufbuild/protobuf"
import type { Forged } from "@signet/guard/testing/actors"
import { ids } from "@signet/guard/testing/issuer"
import { PostedEnvelopeSchema } from "@signet/proto/authz/v1/mailbox"
import { describe, expect, test } from "vitest"
import { actors, type MailboxWorld, mailboxOf, notes, nowSeconds, post, reasonOf, web } from "../support/mailboxes.ts"

describe("a forwarder", () => {
  const toMail = (world: MailboxWorld = {}) => mailboxOf({ mailbox: "svc-mail/inbox", ...world })
  const received = async (scopes = ["notes.read"]) => {
    const first = mailboxOf()
    await first.receive(
      await web.sender.seal({
        ...post("svc-notes/inbox", scopes),
        contextToken: actors.contextToken(web),
        lifeSeconds: 600,
      }),
    )
    const [envelope] = first.handled
    if (envelope === undefined) throw new Error("nothing came")
    return envelope.received
  }

  test("forwards the authority that it received, and no more", async () => {
    const { receive, handled } = toMail()
    await receive(await notes.sender.forward(await received(), { ...post("svc-mail/inbox"), lifeSeconds: 3_600 }))
    expect(handled[0]).toMatchObject({ sender: { clientId: "svc-notes" }, auth: { principal: { id: ids.principal } } })
    expect(handled[0]?.causationId).not.toBeNull()
    // The forwarded envelope does not outlive the received one.
    expect(handled[0]?.received.last.exp).toBe(nowSeconds() + 600)
  })

  test("can narrow the scopes, and later receivers cannot widen them", async () => {
    const narrow = await notes.sender.forward(await received(), post("svc-mail/inbox", []))
    expect(await reasonOf(toMail().receive(narrow))).toBe("MISSING_SCOPE")
  })

  test("cannot widen the scopes beyond those received, although the context has them", async () => {
    const contextToken = actors.contextToken(web, { scp: ["notes.read", "mail.send"] })
    const first = mailboxOf()
    await first.receive(await web.sender.seal({ ...post(), contextToken }))
    const from = first.handled[0]?.received
    if (from === undefined) throw new Error("nothing came")
    const wide = await notes.sender.forward(from, post("svc-mail/inbox", ["notes.read", "mail.send"]))
    expect(await reasonOf(toMail().receive(wide))).toBe("ENVELOPE_SCOPES_WIDENED")
  })

  test("cannot forward a service's own authority to an internal mailbox, which accepts only its sender's", async () => {
    const own = { sub: web.principalId, principal_type: "service", gty: "client_credentials" }
    const contextToken = actors.contextToken(web, { ...own, sid: undefined, identity_id: undefined })
    const first = mailboxOf()
    await first.receive(await web.sender.seal({ ...post(), contextToken }))
    const from = first.handled[0]?.received
    if (from === undefined) throw new Error("nothing came")
    const forwarded = await notes.sender.forward(from, post("svc-mail/inbox"))
    const system = mailboxOf({ mailbox: "svc-mail/inbox", isSystem: true })
    expect(await reasonOf(system.receive(forwarded))).toBe("PRINCIPAL_KIND_NOT_ALLOWED")
  })

  test("cannot extend a chain that it has read but did not receive", async () => {
    const thief = await actors.actor({ clientId: "svc-thief", mailboxes: ["svc-mail/*"] })
    const stolen = await thief.sender.forward(await received(), post("svc-mail/inbox"))
    expect(await reasonOf(toMail().receive(stolen))).toBe("ENVELOPE_NOT_FORWARDERS")
  })

  test("cannot start its own chain with the context token of an envelope", async () => {
    const { last } = await received()
    const own = await notes.sender.seal({ ...post("svc-mail/inbox"), contextToken: last.contextToken })
    expect(await reasonOf(toMail().receive(own))).toBe("AUDIENCE_MISMATCH")
  })

  test("cannot forge the envelope that it forwards", async () => {
    const { chain } = await received()
    const [parent] = chain
    if (parent === undefined) throw new Error("no parent")
    const forged = async (payload: Forged["payload"], parents = [parent]) => {
      const follows = { mailbox: "svc-mail/inbox", contextToken: "", ...payload }
      return reasonOf(toMail().receive(await actors.forge(notes, { payload: follows, parents })))
    }
    expect(await forged({})).toBe("ENVELOPE_CHAIN_BROKEN")
    expect(await forged({ contextToken: actors.contextToken(notes) })).toBe("ENVELOPE_CHAIN_BROKEN")
    const bent = create(PostedEnvelopeSchema, { chain: [{ ...parent, payload: parent.payload.with(3, 7) }] }).chain
    expect(await forged({}, bent)).toBe("ENVELOPE_SIGNATURE_INVALID")
    // Signed by the forwarder in the name of the first sender.
    const inTheName = fromBinary(PostedEnvelopeSchema, await actors.forge(web, { signer: notes })).chain
    expect(await forged({}, inTheName)).toBe("ENVELOPE_SIGNATURE_INVALID")
  })

  test("cannot forward in a circle beyond the hop limit", async () => {
    const loop = await actors.actor({ clientId: "svc-loop", mailboxes: ["svc-loop/inbox"] })
    let bytes = await loop.sender.seal({ ...post("svc-loop/inbox"), contextToken: actors.contextToken(loop) })
    for (let hop = 0; hop <= 16; hop++) {
      const { receive, handled } = mailboxOf({ mailbox: "svc-loop/inbox" })
      await receive(bytes)
      const from = handled[0]?.received
      if (from === undefined) throw new Error("nothing came")
      bytes = await loop.sender.forward(from, post("svc-loop/inbox"))
    }
    const last = mailboxOf({ mailbox: "svc-loop/inbox" })
    expect(await reasonOf(last.receive(bytes))).toBe("ENVELOPE_HOP_LIMIT")
  })

  test("cannot forward an envelope of a revoked key", async () => {
    const world = { isRevoked: ({ key }: { key: string }) => key === web.key.kid }
    const forwarded = await notes.sender.forward(await received(), post("svc-mail/inbox"))
    expect(await reasonOf(toMail(world).receive(forwarded))).toBe("ENVELOPE_KEY_REVOKED")
  })
})
