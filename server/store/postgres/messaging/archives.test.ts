import { afterAll, beforeAll } from "vitest"
import { archiveSuite } from "../../../../test/support/messaging-store/archives.ts"
import { describeOnEachStore, openTestStore, type TestStore } from "../../../../test/support/postgres.ts"

describeOnEachStore("archives", (kind) => {
  let opened: TestStore
  beforeAll(async () => {
    opened = await openTestStore(kind)
  })
  afterAll(() => opened.close())
  archiveSuite(() => opened.messaging)
})
