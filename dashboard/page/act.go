package page

// Changed is the page that says why nothing was done, and leads back to the release.
const Changed Name = "changed"
