import { afterAll, beforeAll } from "vitest"
import { listeningSuite } from "../../../../test/support/messaging-store/listening.ts"
import { describeOnEachStore, openTestStore, type TestStore } from "../../../../test/support/postgres.ts"

describeOnEachStore("what a stream listens to", (kind) => {
  let opened: TestStore
  beforeAll(async () => {
    opened = await openTestStore(kind)
  })
  afterAll(() => opened.close())

  listeningSuite(() => opened.messaging)
})
