// The console of an administrator of a tenant or of a context: the page shows and calls what the token reaches, and with
// the API's attack list nothing else.
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { developmentAppId } from "../../server/development/app-id.ts"
import type { Ids } from "./administered.ts"
import { chromiumMissing } from "./chromium.ts"
import {
  attackWithToken,
  expectMissing,
  expectRefusedForms,
  expectScreens,
  openPlace,
  type PlaceStory,
  type TamperedForm,
} from "./console-place.ts"
import { isLong } from "./effort.ts"

const app = `/apps/${developmentAppId}`

export interface PlaceSuite {
  readonly level: "tenant" | "context"
  /** Scopes besides those of every administrator. */
  readonly scopes?: readonly string[]
  /** Titles of the tests that docs/reference/security.md names. */
  readonly claims: { readonly missing: string; readonly attack: string }
  /** Links of the menu's first group, between the overview and the delegation. */
  readonly menu: readonly string[]
  readonly heading: string
  readonly parts: readonly string[]
  /** Buttons that a page of the app does not have. */
  readonly missingButtons: readonly (readonly [part: string, name: string])[]
  /** Screens below the app and elsewhere, with a text of each. */
  readonly screens: (ids: Ids) => readonly (readonly [path: string, text: string])[]
  /** Pages of another level, by the name of the level that they are for. */
  readonly others: Readonly<Record<string, readonly string[]>>
  /** Addresses of objects, besides those of a person and an event. */
  readonly missing: readonly ((ids: Ids) => string)[]
  readonly forms: readonly TamperedForm[]
  /** Sends one of the forms unchanged: it works where the token administers. */
  readonly works: (of: PlaceStory) => Promise<unknown>
  readonly fewestCalls: number
}

/** @param further Declares tests of this level alone, before the last one. */
export function describePlace(suite: PlaceSuite, further: (place: () => PlaceStory) => void): void {
  const { level } = suite
  const title = `a ${level}'s administrator in the console${chromiumMissing ? ` (skipped: ${chromiumMissing})` : ""}`
  // A test opens up to twenty screens.
  describe.skipIf(chromiumMissing !== undefined || !isLong)(title, { timeout: 600_000 }, () => {
    let place: PlaceStory
    beforeAll(async () => {
      place = await openPlace(suite)
    }, 600_000)
    afterAll(() => place?.story.close())

    test("is offered the pages that the token reaches, and nothing else", async () => {
      const { page } = place
      const menu = (group: number) => page.locator("nav#menu ul").nth(group).getByRole("link").allInnerTexts()
      expect(await menu(0)).toEqual(["Overview", "People", `This ${level}`, ...suite.menu])
      expect(await menu(1)).toEqual(["Activity", "Audit", "Why?", "Signing keys", "Health"])
      await page.getByRole("link", { name: `This ${level}` }).click()
      await page.getByRole("heading", { name: suite.heading }).waitFor()
      const parts = await page.getByRole("navigation", { name: "Parts of the app" }).getByRole("link").allInnerTexts()
      expect(parts).toEqual(suite.parts)
      for (const [part, name] of suite.missingButtons) {
        await place.read(`${app}/${part}`)
        expect([part, name, await page.getByRole("button", { name, exact: true }).count()]).toEqual([part, name, 0])
      }
    })

    test("sees the place, nothing beside it, and no page that it is offered makes a refused call", async () => {
      const { ids } = place.mine
      await expectScreens(place, [
        ...suite.screens(ids),
        [`${app}/invitations`, ids.invitation_id],
        [`${app}/roles`, "role"],
        [`${app}/permissions`, ids.permission_key],
        [`${app}/grants`, ids.principal_id],
        ["/activity", "Sign-ins"],
        ["/audit", "membership.accepted"],
        ["/why", "Explain"],
        ["/keys", "Access tokens"],
        ["/account", "kim@example.com"],
      ])
    })

    test("a page of another level, opened by its address, says so and calls nothing", async () => {
      const { page, read, refused, mine } = place
      refused.length = 0
      for (const [whose, paths] of Object.entries(suite.others)) {
        for (const path of paths) {
          expect([path, await read(path)]).toEqual([path, expect.stringContaining(`for administrators of ${whose}`)])
        }
      }
      expect(await page.locator("main").textContent()).toContain(mine.ids[`${level}_id`])
      expect(refused).toEqual([])
    })

    test(suite.claims.missing, async () => {
      await expectMissing(place, [
        (ids) => `/people/${ids.principal_id}`,
        () => "/people?find=eve@example.com",
        (ids) => `/audit?principal=${ids.principal_id}`,
        (_, event) => `/why?event=${event}`,
        ...suite.missing,
      ])
    })

    test("a form that names another place is refused in plain words, and changes nothing there", async () => {
      await expectRefusedForms(place, [{ path: `${app}/members`, open: "Invite", send: "Invite" }, ...suite.forms])
      await suite.works(place)
    })

    test(suite.claims.attack, async () => {
      expect(await attackWithToken(place)).toBeGreaterThan(suite.fewestCalls)
    })

    further(() => place)

    test("no page reported a violation of its policy, or an error", () => {
      expect(place.story.watched.violations).toEqual([])
      expect(place.story.watched.errors).toEqual([])
    })
  })
}

/** Changes to a membership of the same person in the app as a whole. */
export async function enterWholeApp({ page, read }: PlaceStory): Promise<void> {
  await read("")
  await page.getByRole("button", { name: "Sign in there" }).click()
  await page.getByRole("dialog").getByRole("button", { name: "Sign in with Stand-in" }).click()
  // The provider knows the person, and asks nothing.
  await page.getByText("Your membership has no administrative scope").waitFor()
}
