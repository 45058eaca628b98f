// Vitest's set-up of every file. Files share a process: what one has changed of it, the next must not find.
import { afterAll, vi } from "vitest"

const environment = { ...process.env }

afterAll(() => {
  vi.useRealTimers()
  vi.restoreAllMocks()
  vi.unstubAllGlobals()
  for (const name of Object.keys(process.env)) if (!(name in environment)) delete process.env[name]
  Object.assign(process.env, environment)
})
