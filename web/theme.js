// theme: light or dark, set before anything is drawn. The choice "auto" follows the system.
(() => {
  const key = 'adlro-theme';
  const dark = matchMedia('(prefers-color-scheme: dark)');
  const choice = () => localStorage.getItem(key) || 'auto';
  const apply = () => {
    const chosen = choice();
    document.documentElement.dataset.theme = chosen === 'auto' ? (dark.matches ? 'dark' : 'light') : chosen;
    document.documentElement.dataset.themeChoice = chosen;
    dispatchEvent(new Event('adlro-theme'));
  };
  dark.addEventListener('change', apply);
  addEventListener('adlro-theme-next', () => {
    const order = ['auto', 'light', 'dark'];
    localStorage.setItem(key, order[(order.indexOf(choice()) + 1) % order.length]);
    apply();
  });
  apply();
})();
