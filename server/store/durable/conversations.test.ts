// The same suites as on PostgreSQL, over objects in the real runtime.
import { afterAll, beforeAll, describe } from "vitest"
import { effort } from "../../../test/support/effort.ts"
import { appendSuite } from "../../../test/support/messaging-store/append.ts"
import { attachmentSuite } from "../../../test/support/messaging-store/attachments.ts"
import { conversationSuite } from "../../../test/support/messaging-store/conversations.ts"
import { listeningSuite } from "../../../test/support/messaging-store/listening.ts"
import { createDurableStore } from "./store.ts"
import { type StartedObjects, startObjects } from "./testing/start.ts"

let objects: StartedObjects
beforeAll(async () => {
  objects = await startObjects()
})
afterAll(() => objects.close())
const store = () => createDurableStore(objects.env)

describe("appending", () => appendSuite(store))
// Each takes its time to make objects; the conformance suite asks for the same from outside.
describe.skipIf(effort(true, false, false))("conversations", () =>
  conversationSuite(store, (id, nowMs, limit) => objects.env.CONVERSATIONS.getByName(id).sweep(nowMs, limit)),
)
describe.skipIf(effort(true, false, false))("what a stream listens to", () => listeningSuite(store))
describe("attachments", () => attachmentSuite(store))
