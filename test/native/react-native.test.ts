// The native module of React Native: its own C++ on React Native's JavaScript interface with JavaScriptCore, and libsignet.
import { mkdtempSync, rmSync } from "node:fs"
import { join } from "node:path"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { createTaint } from "../../clients/react-native/testing/taint.ts"
import { type Deployment, startDeployment } from "../support/edge-server.ts"
import { fastTmpdir } from "../support/fast-tmpdir.ts"
import { type Messengers, messengersOn, textsIn } from "../support/messaging/messengers.ts"
import { buildJsc, type JsiMember, startJsiMember, whyNoJsi } from "../support/native/react-native.ts"
import { storyStore } from "../support/postgres.ts"

const utf8 = (text: string) => new TextEncoder().encode(text)

describe.skipIf(whyNoJsi !== undefined)(whyNoJsi ?? "the native module of React Native", () => {
  let server: Deployment
  let messengers: Messengers
  let built: Awaited<ReturnType<typeof buildJsc>>
  let folder: string
  const members: JsiMember[] = []
  beforeAll(async () => {
    folder = mkdtempSync(join(fastTmpdir(), "signet-jsi-"))
    built = await buildJsc()
    server = await startDeployment({ store: storyStore })
    messengers = messengersOn(server)
  }, 900_000)
  afterAll(async () => {
    for (const member of members) member.kill()
    await messengers?.close()
    await server?.close()
    rmSync(folder, { recursive: true, force: true })
  })

  function start(name: string): JsiMember {
    const member = startJsiMember(built, { folder, name, origin: server.url })
    members.push(member)
    return member
  }

  const options = () => ({
    ...{ appId: server.app.id, authBaseUrl: server.url, providers: ["IDP_A"], audiences: [server.audience] },
  })

  async function signIn(member: JsiMember, subject: string): Promise<string> {
    const { credential, nonce = "" } = await server.login(subject)
    const idToken = credential?.case === "idToken" ? credential.value : ""
    return member.ask<string>("signIn", { nonce, idToken })
  }

  const openMessenger = (member: JsiMember) =>
    member.ask<string>("messenger", {
      ...{ baseUrl: server.messagingUrl, audience: server.audience, rootKey: [...server.issuerRootKey] },
    })

  test("two people write to each other, and no key, group state or token crosses into JavaScript", async () => {
    const ann = start("ann")
    await ann.ask("open", options())
    const annId = await signIn(ann, "ann in React Native")
    const device = await openMessenger(ann)
    const ben = await messengers.newcomer("ben in Node")
    const id = await ann.ask<string>("direct", ben.person.userId)
    await ann.ask("send", { id, text: "from React Native, planted-55e1" })
    await ben.messenger.sync()
    await ben.messenger.send(id, utf8("from Node"))
    await ann.ask("sync")
    const all = ["from React Native, planted-55e1", "from Node"]
    expect(await ann.ask("texts", id)).toEqual(all)
    expect(await textsIn(ben, id)).toEqual(all)
    expect(await ann.ask("events")).toContain("entry")
    expect(await ann.ask("verification", ben.person.userId)).toBe(
      (await ben.messenger.verification.of(annId)).safetyNumber,
    )
    await expect(ann.ask("send", { id: "cnv_none", text: "x" })).rejects.toMatchObject({ name: "MessagingError" })

    const crossed = (await ann.ask<string[]>("crossed")).join("\n")
    const taint = createTaint()
    for (const { primitive, bytes } of ann.secrets()) {
      if (primitive <= 10) taint.add("a key", bytes)
      else for (const [token] of Buffer.from(bytes).toString("latin1").matchAll(/eyJ[\w-]+\.[\w-]+\.[\w-]+/g)) taint.add("a token", token)
    }
    expect(taint.count).toBeGreaterThan(400)
    expect(taint.secrets.some(({ name }) => name === "a token")).toBe(true)
    const planted = createTaint()
    planted.add("the plaintext", "planted-55e1")
    expect(planted.in(crossed)).toEqual(["the plaintext"])
    expect(taint.in(crossed)).toEqual([])
    expect(crossed).not.toContain(Buffer.from("eyJhbGciOi").toString("hex"))
    const [secret] = taint.secrets
    expect(taint.in(`${crossed}\n${Buffer.from(secret?.bytes ?? []).toString("hex")}`)).toEqual(["a key"])

    await ann.ask("close")
    await expect(ann.ask("sync")).rejects.toMatchObject({ reason: "CLOSED" })
    expect(await ann.ask("open", options())).toMatchObject({ is: "signedIn", user: { principalId: annId } })
    expect(await openMessenger(ann)).toBe(device)
    expect(await ann.ask("texts", id)).toEqual(all)
    expect(await ann.end()).toBe(0)
    expect(ann.errors()).toBe("")
  }, 300_000)
})
