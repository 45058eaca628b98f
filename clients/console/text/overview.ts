export const overview = {
  title: "Overview",
  about: {
    installation: "You administer the installation: every app, and every person.",
    app: "You administer what the scopes of your membership reach.",
    tenant: "You are signed in to one tenant, and administer nothing outside of it.",
    context: "You are signed in to one context, and administer nothing outside of it.",
  },
  noScopes:
    "Your membership has no administrative scope, so most pages are not shown. An administrator can add scopes.",
  wholeApp: "the whole app",
  yourScopes: "Your scopes",
  places: "Your other memberships",
  placesAbout: "A sign-in is at one place, and has the scopes of your membership there. This sign-in ends.",
  enter: "Sign in there",
  enterTitle: (place: string) => `Sign in to ${place}`,
  denials: "Newest denials",
  allDenials: "All denials",
  noDenials: "Nothing was denied yet.",
}
