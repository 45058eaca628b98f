import { afterAll, beforeAll } from "vitest"
import { appendSuite } from "../../../../test/support/messaging-store/append.ts"
import { describeOnEachStore, openTestStore, type TestStore } from "../../../../test/support/postgres.ts"

describeOnEachStore("appending", (kind) => {
  let opened: TestStore
  beforeAll(async () => {
    opened = await openTestStore(kind)
  })
  afterAll(() => opened.close())

  appendSuite(() => opened.messaging)
})
