import { afterAll, beforeAll } from "vitest"
import { blockSuite } from "../../../../test/support/messaging-store/blocks.ts"
import { describeOnEachStore, openTestStore, type TestStore } from "../../../../test/support/postgres.ts"

describeOnEachStore("blocked users", (kind) => {
  let opened: TestStore
  beforeAll(async () => {
    opened = await openTestStore(kind)
  })
  afterAll(() => opened.close())
  blockSuite(() => opened.messaging)
})
