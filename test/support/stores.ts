import { postgresMissing } from "./postgres.ts"

/** The stores that a story runs on: always PGlite, and real PostgreSQL where there is one. */
export const storeKinds: ("pglite" | "postgres")[] = postgresMissing === undefined ? ["pglite", "postgres"] : ["pglite"]
