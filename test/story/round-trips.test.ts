// The number of database round trips of the most frequent calls, which dominates their cost.
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { linkPending } from "../../server/store/postgres/audit/audit-chain.ts"
import { testSeals } from "../support/audit-log-deps.ts"
import { type Clients, clientsOver, protocols } from "../support/clients.ts"
import { addMachine, assertion, basic, type Machine, postForm } from "../support/machines.ts"
import { newClaimId } from "../support/messaging/committing.ts"
import { newDevice, type TestDevice } from "../support/messaging/device.ts"
import type { Room } from "../support/messaging/room.ts"
import { type MessagingServer, startMessagingServer } from "../support/messaging/test-server.ts"
import { describeOnPostgres } from "../support/postgres.ts"
import { roundTrips } from "../support/statements.ts"

const overGrpc = protocols.gRPC ?? expect.unreachable()

describeOnPostgres("round trips to the database", () => {
  let server: MessagingServer
  let notes: Machine
  let machine: Machine
  let clients: Clients
  beforeAll(async () => {
    server = await startMessagingServer({ store: "postgres" })
    notes = await addMachine(server, { ownedAudiences: ["svc-notes"], scopes: ["auth.introspect", "notes.read"] })
    machine = await addMachine(server)
    clients = clientsOver(overGrpc(server.url))
  })
  afterAll(() => server?.close())

  const post = async (path: string, form: Record<string, string>, headers: Record<string, string> = {}) => {
    const answer = await postForm(`${server.url}/auth/${path}`, form, headers)
    expect(answer.status).toBe(200)
    return answer.body
  }
  const grant = { grant_type: "client_credentials", audience: "svc-notes" }
  const token = () => post("token", grant, basic(machine))

  test("a client's own token", async () => {
    expect(await roundTrips(token)).toHaveLength(1)
  })

  test("a token, and the link of its event", async () => {
    const { db } = server.store
    const work = async () => {
      await token()
      await linkPending(db, testSeals, Date.now)
    }
    expect(await roundTrips(work)).toHaveLength(1 + 4)
  })

  test("a client's own token, by assertion", async () => {
    expect(await roundTrips(() => post("token", { ...grant, ...assertion(machine) }))).toHaveLength(3)
  })

  test("an introspection", async () => {
    const { access_token } = await token()
    const ask = () => post("token/introspect", { token: String(access_token) }, basic(notes))
    expect(await roundTrips(ask)).toHaveLength(1)
  })

  test("a sign-in of an existing user", async () => {
    const signIn = async () => clients.auth.externalLogin(await server.login("ada"))
    await signIn()
    expect(await roundTrips(signIn)).toHaveLength(3)
  })

  test("a refresh", async () => {
    let { refreshToken } = await clients.auth.externalLogin(await server.login("bob"))
    const refresh = async () => {
      refreshToken = (await clients.auth.refresh({ refreshToken })).refreshToken
    }
    await refresh()
    expect(await roundTrips(refresh)).toHaveLength(2)
  })

  describe("of messaging", () => {
    let alice: TestDevice
    let bob: TestDevice
    let room: Room
    beforeAll(async () => {
      const device = async (subject: string) => {
        const one = await newDevice(overGrpc(server.url), await server.person(subject))
        await one.register()
        await one.upload(60)
        return one
      }
      alice = await device("alice")
      bob = await device("ben")
      room = await alice.createGroup([bob.userId])
    })

    test("a message", async () => {
      expect(await roundTrips(() => alice.send(room, "hello"))).toHaveLength(6)
    })

    test("a commit, and the five of the read that follows", async () => {
      expect(await roundTrips(() => alice.update(room))).toHaveLength(11 + 5)
    })

    test("a claim of a key package", async () => {
      const claim = () =>
        alice.calls.keyPackages.claimKeyPackages({
          claimId: newClaimId(),
          conversationId: room.id,
          userIds: [bob.userId],
        })
      expect(await roundTrips(claim)).toHaveLength(7)
    })
  })
})
