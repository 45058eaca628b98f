import type { DurableEnv } from "../env.ts"
import { StoredObject } from "../object.ts"

export abstract class PlaceObject extends StoredObject {
  constructor(ctx: DurableObjectState, env: DurableEnv) {
    super(ctx, env, {})
  }
}
