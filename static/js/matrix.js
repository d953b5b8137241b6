// Shows and hides columns of the matrix: the boxes above it, one an entry.
document.addEventListener("change", (event) => {
  const column = event.target.dataset?.column;
  const matrix = event.target.closest(".matrix");
  if (!column || !matrix) return;
  for (const row of matrix.querySelectorAll("tr:not(.is-group)")) {
    row.children[Number(column)].hidden = !event.target.checked;
  }
});
