// What the browser remembers of this page's settings; nothing, where it does not let pages remember.

export function recall(name) {
  try {
    return localStorage.getItem(name);
  } catch {
    return null;
  }
}

export function remember(name, value) {
  try {
    localStorage.setItem(name, value);
  } catch {
    // Until the page is closed only.
  }
}
