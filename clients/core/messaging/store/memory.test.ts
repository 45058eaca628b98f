import { storeSuite } from "../testing/store-suite.ts"
import { openMemoryStore } from "./memory.ts"

storeSuite("the store in memory", async () => ({
  open: async () => openMemoryStore(),
  isKept: false,
  remove: async () => undefined,
}))
