import { afterAll, beforeAll } from "vitest"
import { keyPackageSuite } from "../../../../test/support/messaging-store/key-packages.ts"
import { describeOnEachStore, openTestStore, type TestStore } from "../../../../test/support/postgres.ts"

describeOnEachStore("key packages", (kind) => {
  let opened: TestStore
  beforeAll(async () => {
    opened = await openTestStore(kind)
  })
  afterAll(() => opened.close())
  keyPackageSuite(() => opened.messaging)
})
