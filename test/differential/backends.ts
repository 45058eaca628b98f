// The servers that can be compared, each started anew.
import { type Served, serve } from "../conformance/serve.ts"
import { serveEdge } from "../support/edge.ts"
import { startPostgres } from "../support/postgres-server.ts"

export const backends: Readonly<Record<string, () => Promise<Served>>> = {
  edge: () => serveEdge(),
  pglite: () => serve(),
  postgres: async () => {
    const postgres = await startPostgres()
    if (postgres === undefined) throw new Error("there is no PostgreSQL on this machine")
    const served = await serve(postgres.url)
    return {
      ...served,
      async close() {
        await served.close()
        await postgres.stop()
      },
    }
  },
}
