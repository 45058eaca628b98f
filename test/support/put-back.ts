// Vitest's setup of every file. Files share a process, so changes of global state must be undone.
import { afterAll, vi } from "vitest"

const environment = { ...process.env }

afterAll(() => {
  vi.useRealTimers()
  vi.restoreAllMocks()
  vi.unstubAllGlobals()
  for (const name of Object.keys(process.env)) if (!(name in environment)) delete process.env[name]
  Object.assign(process.env, environment)
})
