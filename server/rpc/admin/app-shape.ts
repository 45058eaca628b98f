import type { MessageInitShape } from "@bufbuild/protobuf"
import { timestampFromMs } from "@bufbuild/protobuf/wkt"
import { type AppValues, settingsOf } from "@signet/kernel/administration/app"
import type * as kernel from "@signet/kernel/records"
import { type App, AppSchema, PlaceStatus } from "@signet/proto/auth/v1/apps"
import { withEtag } from "./etag.ts"

export const appShape = (of: kernel.App): MessageInitShape<typeof AppSchema> =>
  withEtag(AppSchema, {
    id: of.id,
    name: of.name,
    status: PlaceStatus[of.status],
    audiences: [...of.audiences],
    scopes: of.scopes.map((scope) => ({ ...scope, permissions: [...(scope.permissions ?? [])] })),
    settings: {
      ...of.settings,
      allowedOrigins: [...of.settings.allowedOrigins],
      allowedRedirectUris: [...of.settings.allowedRedirectUris],
    },
    installation: of.isInstallation,
    createdAt: timestampFromMs(of.createdAtMs),
    updatedAt: timestampFromMs(of.updatedAtMs),
  })

/** The values that a message sets on an app. Its other fields are ignored. */
export function appValues(app: App): AppValues {
  const { settings } = app
  return {
    name: app.name,
    audiences: app.audiences,
    scopes: app.scopes.map(({ key, audience, isDefault, permissions }) => {
      const scope = { key, audience, isDefault }
      return permissions.length === 0 ? scope : { ...scope, permissions }
    }),
    settings: settingsOf({
      signupEnabled: settings?.signupEnabled ?? false,
      sessionIdleSecondsWeb: settings?.sessionIdleSecondsWeb ?? 0,
      sessionIdleSecondsNative: settings?.sessionIdleSecondsNative ?? 0,
      sessionAbsoluteSeconds: settings?.sessionAbsoluteSeconds ?? 0,
      retryWindowSeconds: settings?.retryWindowSeconds,
      allowedOrigins: settings?.allowedOrigins ?? [],
      allowedRedirectUris: settings?.allowedRedirectUris ?? [],
      requireSameDevice: settings?.requireSameDevice ?? false,
      managesIdentity: settings?.managesIdentity ?? false,
    }),
  }
}
