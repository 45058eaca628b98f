// Backups, the history of a new device, and pushes with previews, from JavaScript of React Native with other platforms.
import { createReadStream, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { exportBackup, restoreBackup } from "../../clients/core/messaging/backup/index.ts"
import { grantHistoryByQr, requestHistoryByQr, runHistory } from "../../clients/core/messaging/history/index.ts"
import { createTaint } from "../../clients/react-native/testing/taint.ts"
import { type Deployment, startDeployment } from "../support/edge-server.ts"
import { isLong } from "../support/effort.ts"
import { fastTmpdir } from "../support/fast-tmpdir.ts"
import { type Messengers, messengersOn, textsIn } from "../support/messaging/messengers.ts"
import { buildJsc, type JscBuild, type JsiMember, startJsiMember, whyNoJsi } from "../support/native/react-native.ts"
import { storyStore } from "../support/postgres.ts"
import { type FakePushProvider, pushSettings, startFakePushProvider } from "../support/push-provider.ts"

const utf8 = (text: string) => new TextEncoder().encode(text)
const hexOf = (text: string) => Buffer.from(text).toString("hex")

/** A peek of a busy machine may reach its time limit, and shows nothing then. It changes nothing, so it is repeated. */
const slow = { interval: 100, timeout: 120_000 }

describe.skipIf(whyNoJsi !== undefined || !isLong)(whyNoJsi ?? "recovery and pushes in React Native", () => {
  let provider: FakePushProvider
  let server: Deployment
  let messengers: Messengers
  let built: JscBuild
  let folder: string
  const members: JsiMember[] = []
  beforeAll(async () => {
    folder = mkdtempSync(join(fastTmpdir(), "signet-jsi-"))
    built = await buildJsc()
    provider = await startFakePushProvider()
    server = await startDeployment({ store: storyStore, push: pushSettings() })
    messengers = messengersOn(server)
  }, 900_000)
  afterAll(async () => {
    for (const member of members) member.kill()
    await messengers?.close()
    await server?.close()
    await provider?.close()
    rmSync(folder, { recursive: true, force: true })
  })

  const options = () => ({
    ...{ appId: server.app.id, authBaseUrl: server.url, providers: ["IDP_A"], audiences: [server.audience] },
  })
  const messaging = () => ({
    ...{ baseUrl: server.messagingUrl, audience: server.audience, rootKey: [...server.issuerRootKey] },
  })

  /** Opens a client in a new process. */
  async function open(name: string): Promise<JsiMember> {
    const member = startJsiMember(built, { folder, name, origins: [...new Set([server.url, server.messagingUrl])] })
    members.push(member)
    await member.ask("open", options())
    return member
  }

  async function signIn(name: string, subject: string): Promise<JsiMember> {
    const member = await open(name)
    const { credential, nonce = "" } = await server.login(subject)
    const idToken = credential?.case === "idToken" ? credential.value : ""
    await member.ask("signIn", { nonce, idToken })
    await member.ask("messenger", messaging())
    return member
  }

  test("restores a backup of Node, and Node restores its backup, whose key is all that crosses", async () => {
    const dan = await signIn("dan", "dan in React Native")
    const ben = await messengers.newcomer("ben of the backup")
    const id = await dan.ask<string>("direct", ben.person.userId)
    await dan.ask("send", { id, text: "before the backup" })
    await ben.messenger.sync()
    const recoveryKey = await dan.ask<string>("recoveryKey")
    const path = join(folder, "react-native.backup")
    expect(await dan.ask("exportBackup", { path, recoveryKey })).toEqual({ size: statSync(path).size })
    expect(readFileSync(path).includes("before the backup")).toBe(false)
    const fresh = await messengers.open(await server.person("dan in React Native"))
    await restoreBackup(fresh.messenger, createReadStream(path), { recoveryKey })
    expect(await textsIn(fresh, id)).toEqual(["before the backup"])

    const exported = await exportBackup(ben.messenger)
    const other = join(folder, "node.backup")
    for await (const piece of exported.bytes) writeFileSync(other, piece, { flag: "a" })
    const second = await signIn("ben", "ben of the backup")
    await expect(second.ask("readBackup", { path: other, recoveryKey })).rejects.toMatchObject({
      reason: "BACKUP_KEY_WRONG",
    })
    const read = { path: other, recoveryKey: exported.recoveryKey }
    expect(await second.ask("readBackup", read)).toMatchObject({ conversations: 1 })
    expect(await second.ask("restoreBackup", read)).toMatchObject({ changedUserIds: [] })
    expect(await second.ask("texts", id)).toEqual(["before the backup"])

    for (const command of ["exportBackup", "readBackup", "restoreBackup"]) {
      const own = { path: join(folder, "dan/default/box"), recoveryKey }
      await expect(dan.ask(command, own)).rejects.toThrow("path must be absolute, and outside")
    }
    await expect(dan.ask("saveStored", "relative")).rejects.toThrow("path must be absolute, and outside")

    const crossed = await dan.ask<string[]>("crossed")
    expect(crossed.filter((reply) => reply.includes(hexOf(recoveryKey)))).toHaveLength(1)
    const taint = createTaint()
    for (const { primitive, bytes } of dan.secrets()) if (primitive <= 10) taint.add("a key", bytes)
    expect(taint.count).toBeGreaterThan(100)
    expect(taint.in(crossed.join("\n"))).toEqual([])
    for (const member of [dan, second]) expect(await member.end()).toBe(0)
  }, 300_000)

  test("gets the history as a new device, and hands it to one", async () => {
    const gus = await signIn("gus", "gus in React Native")
    const ben = await messengers.newcomer("ben of the history")
    const id = await gus.ask<string>("direct", ben.person.userId)
    await gus.ask("send", { id, text: "an old message" })
    await ben.messenger.sync()
    const fresh = await messengers.open(await server.person("gus in React Native"))
    for (let round = 0; round < 2; round++) {
      await gus.ask("sync")
      await fresh.messenger.sync()
    }
    const { qr } = await requestHistoryByQr(fresh.messenger)
    await gus.ask("grantHistory", qr)
    await Promise.all([gus.ask("runHistory"), runHistory(fresh.messenger)])
    expect(await textsIn(fresh, id)).toEqual(["an old message"])

    const second = await signIn("ben-second", "ben of the history")
    for (let round = 0; round < 2; round++) {
      await ben.messenger.sync()
      await second.ask("sync")
    }
    await grantHistoryByQr(ben.messenger, (await second.ask<{ qr: string }>("requestHistory")).qr)
    await Promise.all([second.ask("runHistory"), runHistory(ben.messenger)])
    expect(await second.ask("texts", id)).toEqual(["an old message"])
    const taint = createTaint()
    for (const { primitive, bytes } of second.secrets()) if (primitive <= 10) taint.add("a key", bytes)
    expect(taint.in((await second.ask<string[]>("crossed")).join("\n"))).toEqual([])
    for (const member of [gus, second]) expect(await member.end()).toBe(0)
  }, 300_000)

  test("is woken up, shows a preview while the messenger is closed and while it runs, and receives each message once", async () => {
    const eli = await signIn("eli", "eli in React Native")
    const ben = await messengers.newcomer("ben of the push")
    const id = await eli.ask<string>("direct", ben.person.userId)
    await eli.ask("send", { id, text: "hello" })
    await ben.messenger.sync()
    expect(await eli.ask("pushKinds")).toContain("webPush")
    expect(await eli.ask("setPush", `${provider.url}/eli`)).toBe(16)
    expect(await eli.end()).toBe(0)
    await ben.messenger.send(id, utf8("wake up"))
    const pushes = async () => {
      await ben.messenger.sync()
      return provider.received.filter(({ path }) => path === "/eli").length
    }
    await expect.poll(pushes, { interval: 500, timeout: 60_000 }).toBe(1)

    const woken = await open("eli")
    await expect.poll(() => woken.ask("peek", messaging()), slow).toEqual(["wake up"])
    await woken.ask("messenger", messaging())
    await woken.ask("sync")
    await ben.messenger.send(id, utf8("to the running app"))
    // In the same client, and in a second one of the same account.
    await expect.poll(() => woken.ask("peek", messaging()), slow).toEqual(["to the running app"])
    await expect
      .poll(() => woken.ask("peek", { ...messaging(), options: options() }), slow)
      .toEqual(["to the running app"])
    await woken.ask("send", { id, text: "an answer" })
    await woken.ask("sync")
    expect(await woken.ask("texts", id)).toEqual(["hello", "wake up", "to the running app", "an answer"])
    await expect.poll(() => woken.ask("peek", messaging()), slow).toEqual([])
    await woken.ask("deletePush")
    expect((await woken.ask<string[]>("crossed")).join()).not.toContain(hexOf("eyJhbGciOi"))
    expect(await woken.end()).toBe(0)
    expect(woken.errors()).toBe("")
  }, 300_000)
})
